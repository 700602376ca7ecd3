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
    /// By address; `None` has local clients.
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
        let place = address.map(Network::of);
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
        if failures.len() >= self.addresses && !failures.contains_key(&place) {
            make_room(&mut failures, now);
        }
        failures.insert(place, known);
        Verdict::Denied
    }
}

/// Forgets the addresses whose time is over; if there are none, the one whose time is over first. A client with that many
/// networks may so guess on, but locks no other out: an address is only refused for what it sent itself.
fn make_room(failures: &mut AHashMap<Option<Network>, Failures>, now: u64) {
    let before = failures.len();
    failures.retain(|_, known| known.until > now);
    if failures.len() < before {
        return;
    }
    let oldest = failures.iter().min_by_key(|(_, known)| known.until);
    if let Some(oldest) = oldest.map(|(place, _)| *place) {
        failures.remove(&oldest);
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
    use std::net::{Ipv4Addr, Ipv6Addr};

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
    fn the_wrong_tokens_of_others_never_refuse_a_right_one() {
        let guard = guard();
        let (wrong, right) = (with(&["Bearer no"]), with(&[&format!("Bearer {TOKEN}")]));
        let networks = |number: u32| {
            let network = u128::from(number) << 64;
            [address(number), Ipv6Addr::from_bits(network).into()]
        };
        for number in 0..1500 {
            for network in networks(number) {
                for _ in 0..11 {
                    guard.judge(&wrong, Some(network), u64::from(number));
                }
            }
            assert!(guard.failures.lock().len() <= guard.addresses);
        }
        let newcomers = networks(6000).map(Some).into_iter().chain([None]);
        for newcomer in newcomers {
            assert_eq!(guard.judge(&right, newcomer, 5000), Verdict::Allowed);
            // nor do they hide its own
            for _ in 0..10 {
                assert_eq!(guard.judge(&wrong, newcomer, 5000), Verdict::Denied);
            }
            assert_eq!(guard.judge(&right, newcomer, 5000), Verdict::Later(60));
        }
    }

    #[test]
    fn the_oldest_address_is_forgotten_for_one_more() {
        let guard = guard();
        let (wrong, right) = (with(&["Bearer no"]), with(&[&format!("Bearer {TOKEN}")]));
        let most = u32::try_from(guard.addresses).unwrap();
        for number in 0..most {
            for _ in 0..10 {
                guard.judge(&wrong, Some(address(number)), u64::from(number));
            }
        }
        let refused = |number| guard.judge(&right, Some(address(number)), 2000) != Verdict::Allowed;
        assert!((0..most).all(refused));
        guard.judge(&wrong, Some(address(most)), 2000);
        assert_eq!((0..most).filter(|number| !refused(*number)).count(), 1);
        assert!(!refused(0));
        // those whose time is over go together
        guard.judge(&wrong, Some(address(most + 1)), 61_500);
        let left = guard.failures.lock().len();
        assert!(left < guard.addresses, "{left}");
    }
}
