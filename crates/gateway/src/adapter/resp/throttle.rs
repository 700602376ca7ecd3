//! Delays the answers to wrong passwords: each one makes its address wait, regardless of how many connections it has.
//! Bounded in addresses and waiting answers.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use ahash::AHashMap;

use super::limits::FixedRespLimits;
use crate::sync::Mutex;

/// See the module. Times are milliseconds since the gateway was made.
#[derive(Debug)]
pub(super) struct Throttle {
    /// The time until which answers to each address are delayed.
    until: Mutex<AHashMap<IpAddr, u64>>,
    delay: u64,
    waiting: u64,
    remembered: usize,
}

/// The delay of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// It is sent after this time.
    For(Duration),
    /// It is not sent: too many answers to this address wait.
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

    /// Records a password from this address (`None`: a local client) and returns the delay of its answer. While earlier
    /// answers wait, the answer to a right password waits behind them, or its speed would reveal it.
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

/// Stands for connections without an address, and for addresses beyond the limit.
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
    fn the_number_of_waiting_answers_is_limited() {
        let throttle = Throttle::new();
        for turn in 1..=20 {
            assert_eq!(throttle.ask(Some(address(1)), false, 0), ms(turn * 500));
        }
        assert_eq!(throttle.ask(Some(address(1)), false, 0), Wait::TooMany);
        assert_eq!(throttle.ask(Some(address(1)), true, 0), Wait::TooMany);
        assert_eq!(throttle.ask(Some(address(1)), true, 10_000), ms(0));
    }

    #[test]
    fn addresses_are_remembered_up_to_a_limit() {
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
