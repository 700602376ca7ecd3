//! Tests that concern only clients of RESP.

use millrace_core::Topic;

use crate::shard::stage::{Speaks, Stage};

/// A command with more subscriptions than the inbox has room for is refused before any of them takes effect.
#[test]
fn a_subscription_without_room_in_the_inbox_is_an_error_and_changes_nothing() {
    for (command, reply, space) in [
        ("SUBSCRIBE", "*3\r\n$9\r\nsubscribe", 0),
        ("PSUBSCRIBE", "*3\r\n$10\r\npsubscribe", 1),
        ("SSUBSCRIBE", "*3\r\n$10\r\nssubscribe", 2),
    ] {
        let stage = Stage::new(|limits| limits.shard_inbox_bytes = 20_000);
        let client = stage.open(Speaks::Resp);
        client.read_all();
        let says = |command: &str| {
            client.peer.borrow_mut().feed(command.as_bytes());
            // runs only the connection's task: a turn would empty the inbox
            stage.drive(&client);
        };
        let subscribers = |name: &[u8]| {
            let topics = [
                Topic::Channel(name),
                Topic::Pattern(name),
                Topic::Sharded(name),
            ];
            topics.map(|topic| stage.hub.core().subscribers(topic))
        };
        let payload = [b'x'; 100];
        let mut messages = Vec::new();
        while stage.hub.admits_entering(client.socket, 2) {
            assert_eq!(stage.send(&client, &payload), 1);
            messages.extend(stage.frame(&client, None, &payload));
        }
        says(&format!("{command} one two\r\n"));
        assert_eq!(subscribers(b"one"), [0; 3], "{command}");
        assert_eq!(subscribers(b"two"), [0; 3], "{command}");
        stage.run();
        let refusal = b"-ERR the server has too much to do, try again\r\n";
        assert_eq!(client.got(), [&refusal[..], &messages].concat());
        says(&format!("{command} one\r\n"));
        stage.run();
        let mut one = [0; 3];
        one[space] = 1;
        assert_eq!(subscribers(b"one"), one, "there is room again");
        let got = String::from_utf8(client.got()).unwrap();
        assert_eq!(got, format!("{reply}\r\n$3\r\none\r\n:1\r\n"));
        stage.assert_nothing_left();
    }
}
