//! Which turns the shard runs.

use crate::shard::stage::{Speaks, Stage};

#[test]
fn a_turn_that_delivers_needs_no_other_one() {
    let stage = Stage::new(|_| {});
    let actor = stage.open(Speaks::WebSocket);
    actor.read_all();
    stage.run();
    actor.got();
    assert_eq!(stage.send(&actor, b"hello"), 1);
    assert!(stage.turn());
    assert_eq!(actor.got(), stage.frame(&actor, None, b"hello"));
    assert!(!stage.turn(), "everything is done");
}
