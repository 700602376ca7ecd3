//! What permits count, and what they give back.

use ahash::AHashMap;

use super::*;

#[test]
fn a_permit_is_one_pointer() {
    assert_eq!(size_of::<Permit>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Permit>>(), size_of::<usize>());
}

fn permits(change: impl FnOnce(&mut GatewayLimits)) -> Permits {
    let mut limits = GatewayLimits::default();
    change(&mut limits);
    let permits = Permits::new(Instant::now());
    permits.set_limits(&limits);
    permits
}

#[test]
fn a_permit_counts_for_one_address_at_a_time() {
    let permits = permits(|limits| {
        (limits.connections, limits.connections_per_address) = (2, 1);
    });
    let (one, other) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
    let counted = || permits.nowhere.counts.addresses.lock().counts();

    let (mut first, over) = permits.take(Some(one));
    assert!(
        !over
            && permits
                .take_one_more(Some(one))
                .is_some_and(|(_, over)| over)
    );
    assert!(!first.count_for(other));
    assert_eq!(counted(), AHashMap::from([(Network::of(other), 1)]));
    first.forget_address();
    assert!(counted().is_empty());
    assert_eq!(permits.taken(), 1);

    let (second, _) = permits.take(Some(one));
    assert!(permits.take_one_more(None).is_none(), "both are taken");
    drop((first, second));
    assert_eq!(permits.taken(), 0);
    assert!(counted().is_empty());
}

#[test]
fn a_permit_counts_for_a_key_as_long_as_it_exists() {
    let permits = permits(|limits| limits.connections_per_key = 1);
    let (mut first, mut second) = (permits.take(None).0, permits.take(None).0);
    assert!(first.count_for_key("a").is_ok());
    assert_eq!(second.count_for_key("a").map(|_| ()), Err(KeyIsFull));
    assert!(second.count_for_key("b").is_ok());
    drop(first);
    let (mut third, _) = permits.take(Some(IpAddr::from([127, 0, 0, 1])));
    assert!(third.count_for_key("a").is_ok());
    third.forget_address();
    drop((second, third));
    assert!(permits.nowhere.counts.keys.lock().counts().is_empty());
}

#[test]
fn an_address_that_makes_connections_too_fast_is_over_its_limit() {
    let permits = permits(|limits| limits.connections_per_second_per_address = 2);
    let address = Some(IpAddr::from([127, 0, 0, 1]));
    let over = [(); 3].map(|()| permits.take(address).1);
    assert_eq!(over, [false, false, true]);
    let other = Some(IpAddr::from([127, 0, 0, 2]));
    let (mut permit, over) = permits.take(other);
    assert!(!over);
    // one that is counted again is no new connection
    for _ in 0..5 {
        permit.forget_address();
        permit.count_again_for(IpAddr::from([127, 0, 0, 2]));
    }
    assert!(!permits.take(other).1);
}

#[test]
fn the_addresses_of_an_ipv6_network_count_together() {
    let permits = permits(|limits| {
        limits.connections_per_address = 2;
        limits.connections_per_second_per_address = 3;
    });
    let take = |address: &str| permits.take(Some(address.parse().unwrap()));
    let (first, over) = take("2001:db8::1");
    assert!(!over);
    let (second, over) = take("2001:db8::a:b:c:d");
    assert!(!over);
    assert!(take("2001:db8::2").1, "the third of the network");
    assert!(!take("2001:db8:0:1::1").1, "another network");
    drop((first, second));
    assert!(!take("2001:db8::3").1, "the third within a second");
    assert!(take("2001:db8::4").1, "the fourth within a second");
    assert!(
        permits
            .nowhere
            .counts
            .addresses
            .lock()
            .counts()
            .values()
            .all(|count| *count == 0)
    );
}

#[test]
fn without_limits_keys_are_not_counted() {
    let permits = permits(|_| {});
    let (mut permit, _) = permits.take(None);
    assert!(
        permit
            .count_for_key("a")
            .is_ok_and(|bucket| bucket.is_none())
    );
    assert!(permits.nowhere.counts.keys.lock().counts().is_empty());
}

#[test]
fn the_limit_of_idle_rates_is_that_of_the_tallies() {
    let limits = crate::limits::FixedLimits::default();
    assert_eq!(limits.idle_rates, tally::MOST_IDLE);
}
