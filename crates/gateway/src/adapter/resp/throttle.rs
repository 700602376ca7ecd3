//! Wrong passwords: each makes its address wait, however many connections it has. Bounded, whoever asks.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use ahash::AHashMap;

use super::limits::FixedRespLimits;
use crate::sync::Mutex;

/// See the module. Times are milliseconds since the gateway was made.
#[derive(Debug)]
pub(super) struct Throttle {
    /// Until when answers to each address wait.
    until: Mutex<AHashMap<IpAddr, u64>>,
    delay: u64,
    waiting: u64,
    remembered: usize,
}

/// What happens to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// It is given after that time.
    For(Duration),
    /// It is not given: too many wait.
    TooMany,
}

impl Throttle {
    pub(super) fn new() -> Self {
        let limits = FixedRespLimits::default();
        Self {
            until: Mutex::new(AHashMap::new()),
            delay: u64::try_from(limits.wrong_password_delay.as_millis()).unwrap_or(u64::MAX),
            waiting: u64::from(limits.passwords_waiting),
            remembered: limits.addresses_remembered,
        }
    }

    /// A password came from this address (`None`: from this machine): how long its answer waits. While answers to
    /// earlier ones wait, a right one waits behind them as well, or else only the right one would be fast.
    pub(super) fn ask(&self, address: Option<IpAddr>, right: bool, now: u64) -> Wait {
        let mut until = self.until.lock();
        let mut address = address.unwrap_or(UNKNOWN);
        if until.len() >= self.remembered && !until.contains_key(&address) {
            until.retain(|_, time| *time > now);
            if until.len() >= self.remembered {
                address = UNKNOWN;
            }
        }
        let free = until.get(&address).copied().unwrap_or(now).max(now);
        if free - now > self.delay.saturating_mul(self.waiting.saturating_sub(1)) {
            return Wait::TooMany;
        }
        if right && free == now {
            until.remove(&address);
            return Wait::For(Duration::ZERO);
        }
        let at = free.saturating_add(if right { 0 } else { self.delay });
        until.insert(address, at);
        Wait::For(Duration::from_millis(at - now))
    }
}

/// Stands for connections without an address, and for the addresses that are too many.
const UNKNOWN: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))
    }

    fn ms(time: u64) -> Wait {
        Wait::For(Duration::from_millis(time))
    }

    #[test]
    fn wrong_passwords_of_one_address_wait_in_line() {
        let throttle = Throttle::new();
        assert_eq!(throttle.ask(Some(address(1)), true, 1000), ms(0));
        assert_eq!(throttle.ask(Some(address(1)), false, 1000), ms(500));
        assert_eq!(throttle.ask(Some(address(1)), false, 1100), ms(900));
        assert_eq!(throttle.ask(Some(address(1)), true, 1200), ms(800));
        assert_eq!(throttle.ask(Some(address(2)), true, 1200), ms(0));
        assert_eq!(throttle.ask(None, false, 1200), ms(500));
        assert_eq!(throttle.ask(Some(address(1)), true, 2000), ms(0));
    }

    #[test]
    fn the_line_is_bounded() {
        let throttle = Throttle::new();
        for turn in 1..=20 {
            assert_eq!(throttle.ask(Some(address(1)), false, 0), ms(turn * 500));
        }
        assert_eq!(throttle.ask(Some(address(1)), false, 0), Wait::TooMany);
        assert_eq!(throttle.ask(Some(address(1)), true, 0), Wait::TooMany);
        assert_eq!(throttle.ask(Some(address(1)), true, 10_000), ms(0));
    }

    #[test]
    fn addresses_are_remembered_up_to_a_bound() {
        let throttle = Throttle {
            remembered: 2,
            ..Throttle::new()
        };
        for last in 1..=2 {
            assert_eq!(throttle.ask(Some(address(last)), false, 0), ms(500));
        }
        assert_eq!(throttle.ask(Some(address(3)), false, 0), ms(500));
        assert_eq!(
            throttle.ask(Some(address(4)), false, 0),
            ms(1000),
            "as one with 3"
        );
        assert_eq!(
            throttle.ask(Some(address(5)), false, 600),
            ms(500),
            "room again"
        );
    }
}
