//! Single cases of following the members of a channel.

use super::super::roll::Seat;
use super::tests::seat;
use super::*;

fn change(session: Session, numbers: (u64, u64), seats: Vec<Result<Seat, u64>>) -> Told {
    Told::Change(Change {
        session,
        before: numbers.0,
        version: numbers.1,
        seats,
        is_empty: false,
    })
}

const ONE: Session = Session { node: 1, number: 5 };

/// A follower that knows of nobody.
fn filled() -> Follower {
    let mut follower = Follower::default();
    let mut steps = Vec::new();
    follower.begin(&mut steps);
    let look = follower.index_sent().unwrap();
    follower.index(look, &[], &mut steps);
    assert_eq!(steps, [Step::Index, Step::Filled(vec![])]);
    follower
}

#[test]
fn a_change_that_is_not_the_next_one_has_its_session_read() {
    let mut follower = filled();
    let mut steps = Vec::new();
    follower.told(change(ONE, (0, 3), vec![Ok(seat(7, "1"))]), &mut steps);
    let put = |mark, socket, info| Step::Put {
        node: 1,
        mark,
        seats: vec![seat(socket, info)],
    };
    assert_eq!(steps, [put(NO_MARK, 7, "1")]);
    steps.clear();
    follower.told(change(ONE, (4, 5), vec![Err(7)]), &mut steps);
    assert_eq!(steps, [Step::Repair(ONE)]);
    steps.clear();
    let (cursor, mark) = follower.sent(ONE).unwrap();
    assert_eq!(&*cursor, "0");
    // what comes meanwhile is put behind what is read
    follower.told(change(ONE, (5, 6), vec![Ok(seat(9, "3"))]), &mut steps);
    assert_eq!(steps, []);
    let page = Page {
        changes: Vec::new(),
        seats: vec![seat(8, "2")],
        next: None,
    };
    follower.page(ONE, mark, page, &mut steps);
    let sweep = Step::Sweep { node: 1, mark };
    let filled = Step::Filled(vec![1]);
    assert_eq!(steps, [put(mark, 8, "2"), put(mark, 9, "3"), sweep, filled]);
}

#[test]
fn what_is_held_back_is_bounded() {
    let mut follower = filled();
    let mut steps = Vec::new();
    follower.told(change(ONE, (4, 5), vec![]), &mut steps);
    let look = follower.index_sent().unwrap();
    follower.index(look, &[(ONE, Some(5))], &mut steps);
    let (_, mark) = follower.sent(ONE).unwrap();
    let long = "x".repeat(4096);
    for version in 6..306 {
        let seats = vec![Ok(seat(7, &long))];
        follower.told(change(ONE, (version - 1, version), seats), &mut steps);
    }
    let reading = follower.known[&1].reading.as_ref().unwrap();
    assert!(reading.held.is_empty() && reading.is_outdated);
    steps.clear();
    let page = Page {
        changes: Vec::new(),
        seats: vec![],
        next: None,
    };
    follower.page(ONE, mark, page, &mut steps);
    assert_eq!(steps, [Step::Repair(ONE)]);
    assert_eq!(follower.known[&1].version, Some(305));
}

#[test]
fn an_earlier_session_of_a_node_changes_nothing() {
    let mut follower = filled();
    let mut steps = Vec::new();
    follower.told(change(ONE, (0, 3), vec![Ok(seat(7, "1"))]), &mut steps);
    steps.clear();
    let earlier = Session { node: 1, number: 4 };
    follower.told(change(earlier, (0, 9), vec![Err(7)]), &mut steps);
    follower.told(
        Told::Reset {
            session: earlier,
            version: 9,
            is_empty: true,
        },
        &mut steps,
    );
    follower.dead(earlier, &mut steps);
    assert_eq!(steps, []);
    follower.dead(ONE, &mut steps);
    assert_eq!(steps.len(), 2);
    assert_eq!(follower.sessions().count(), 0);
}

#[test]
fn the_index_has_a_session_whose_earlier_one_has_died_meanwhile() {
    let mut follower = filled();
    let mut steps = Vec::new();
    follower.told(change(ONE, (0, 3), vec![Ok(seat(7, "1"))]), &mut steps);
    // the link was lost, and with it what the next session has told
    follower.lost();
    follower.begin(&mut steps);
    let look = follower.index_sent().unwrap();
    follower.dead(ONE, &mut steps);
    steps.clear();
    let next = Session { node: 1, number: 6 };
    follower.index(look, &[(ONE, Some(3)), (next, Some(4))], &mut steps);
    assert_eq!(steps, [Step::Page(next)]);
}

#[test]
fn a_session_that_has_died_does_not_come_back_by_an_index_from_before() {
    let mut follower = filled();
    let mut steps = Vec::new();
    follower.told(change(ONE, (0, 3), vec![Ok(seat(7, "1"))]), &mut steps);
    follower.begin(&mut steps);
    let look = follower.index_sent().unwrap();
    follower.dead(ONE, &mut steps);
    steps.clear();
    follower.index(look, &[(ONE, Some(3))], &mut steps);
    assert_eq!(steps, [Step::Filled(vec![])]);
}

#[test]
fn an_index_is_not_taken_for_the_one_that_was_asked_for_later() {
    let mut follower = filled();
    let mut steps = Vec::new();
    follower.begin(&mut steps);
    let early = follower.index_sent().unwrap();
    follower.told(change(ONE, (0, 3), vec![Ok(seat(7, "1"))]), &mut steps);
    follower.begin(&mut steps);
    let late = follower.index_sent().unwrap();
    steps.clear();
    follower.index(early, &[], &mut steps);
    assert_eq!(steps, [], "it does not know of the session yet");
    follower.index(late, &[(ONE, Some(3))], &mut steps);
    assert_eq!(steps, [Step::Filled(vec![1])]);
}
