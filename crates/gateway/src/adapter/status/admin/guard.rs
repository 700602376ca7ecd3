//! Who may see the admin page's data: the token is compared in constant time, and wrong tokens are counted per address.
//! Bounded in addresses. Pure: the time is an argument.

use std::fmt;
use std::net::IpAddr;

use ahash::AHashMap;
use hyper::header::{AUTHORIZATION, HeaderMap};

use super::limits::FixedAdminLimits;
use crate::permits::Network;
use crate::secret::is_equal;
use crate::sync::Mutex;

/// See the module. Times are milliseconds since the gateway was made.
pub(super) struct Guard {
    token: String,
    /// By address; `None` has local clients, and all others once too many addresses are remembered.
    failures: Mutex<AHashMap<Option<Network>, Failures>>,
    most: u32,
    window: u64,
    addresses: usize,
}

/// The wrong tokens of an address.
#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    until: u64,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    /// There is no token, or a wrong one.
    Denied,
    /// Its address sent too many wrong tokens, so that none counts for so many seconds.
    Later(u64),
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

impl Guard {
    pub(super) fn new(token: &str, limits: &FixedAdminLimits) -> Self {
        Self {
            token: token.to_owned(),
            failures: Mutex::new(AHashMap::new()),
            most: limits.wrong_admin_tokens,
            window: u64::try_from(limits.wrong_tokens_window.as_millis()).unwrap_or(u64::MAX),
            addresses: limits.addresses_with_wrong_tokens,
        }
    }

    /// Decides about a request. One without a token guesses nothing and is not counted.
    pub(super) fn judge(&self, headers: &HeaderMap, address: Option<IpAddr>, now: u64) -> Verdict {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(first), None) = (given.next(), given.next()) else {
            return Verdict::Denied;
        };
        let Some(token) = bearer(first.as_bytes()) else {
            return Verdict::Denied;
        };
        let mut failures = self.failures.lock();
        let mut place = address.map(Network::of);
        if failures.len() >= self.addresses && !failures.contains_key(&place) {
            failures.retain(|_, known| known.until > now);
            if failures.len() >= self.addresses {
                place = None;
            }
        }
        let known = failures.get(&place).filter(|known| known.until > now);
        // a right one is refused, too, or guessing would go on
        if let Some(known) = known.filter(|known| known.count >= self.most) {
            return Verdict::Later((known.until - now).div_ceil(1000));
        }
        if is_equal(token, self.token.as_bytes()) {
            return Verdict::Allowed;
        }
        let fresh = Failures {
            count: 0,
            until: now.saturating_add(self.window),
        };
        let mut known = known.copied().unwrap_or(fresh);
        known.count += 1;
        failures.insert(place, known);
        Verdict::Denied
    }
}

/// The token of `Bearer <token>` (RFC 6750, section 2.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(SCHEME.len())?;
    scheme
        .eq_ignore_ascii_case(SCHEME)
        .then(|| token.trim_ascii())
}

const SCHEME: &[u8] = b"Bearer ";

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use hyper::header::HeaderValue;

    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn guard() -> Guard {
        Guard::new(TOKEN, &FixedAdminLimits::default())
    }

    fn with(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn only_the_whole_token_of_one_header_is_allowed() {
        let right = format!("Bearer {TOKEN}");
        let allowed = |values: &[&str]| guard().judge(&with(values), None, 0) == Verdict::Allowed;
        assert!(allowed(&[&right]) && allowed(&[&format!("bearer  {TOKEN} ")]));
        for values in [
            &[][..],
            &[TOKEN],
            &["Bearer"],
            &["Bearer "],
            &["Bearer 0123456789abcde"],
            &["Bearer 0123456789abcdef0"],
            &["Bearer 0123456789abcdef0123456789abcdef"],
            &["Basic 0123456789abcdef"],
            &[&right, &right],
        ] {
            assert!(!allowed(values), "{values:?}");
        }
    }

    #[test]
    fn an_address_with_ten_wrong_tokens_waits_for_a_minute() {
        let guard = guard();
        let (wrong, right) = (with(&["Bearer no"]), with(&[&format!("Bearer {TOKEN}")]));
        let [one, other] = [1, 2].map(|number| Some(address(number)));
        for number in 0..10 {
            assert_eq!(guard.judge(&wrong, one, number * 1000), Verdict::Denied);
            assert_eq!(guard.judge(&with(&[]), one, 0), Verdict::Denied, "no guess");
        }
        assert_eq!(guard.judge(&right, one, 10_000), Verdict::Later(50));
        assert_eq!(guard.judge(&wrong, one, 59_999), Verdict::Later(1));
        assert_eq!(guard.judge(&right, other, 10_000), Verdict::Allowed);
        assert_eq!(guard.judge(&wrong, one, 60_000), Verdict::Denied);
        assert_eq!(guard.judge(&right, one, 60_000), Verdict::Allowed);
    }

    #[test]
    fn any_number_of_addresses_guesses_no_faster_than_one_more() {
        let guard = guard();
        let wrong = with(&["Bearer no"]);
        let most = u32::try_from(guard.addresses).unwrap();
        for number in 0..most {
            guard.judge(&wrong, Some(address(number)), 0);
        }
        let late = (most..most + 100).map(|number| guard.judge(&wrong, Some(address(number)), 1));
        let denied = late.filter(|verdict| *verdict == Verdict::Denied).count();
        assert_eq!(denied, 10);
        assert!(guard.failures.lock().len() <= guard.addresses + 1);
        // when the time is over they are forgotten
        assert_eq!(
            guard.judge(&wrong, Some(address(most)), 60_000),
            Verdict::Denied
        );
        assert_eq!(guard.failures.lock().len(), 2);
    }
}
