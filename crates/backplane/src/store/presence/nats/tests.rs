//! A register on a server that answers every request: there is no such message.

use std::future::poll_fn;
use std::time::Duration;

use tokio::time::timeout;

use super::super::super::jetstream::responder::{link, run};
use super::super::register::{Reply, Request};
use super::*;

/// A register on such a server. So many sessions of other nodes live.
async fn register(sessions: u64) -> NatsRegister {
    let nothing = |_: &str| "{\"error\":{\"code\":404,\"err_code\":10037}}".to_owned();
    let mut register = NatsRegister::new(link(nothing).await, Names::new("app"), Box::default());
    register.live = (1..=sessions)
        .map(|node| Session { node, number: 1 })
        .collect();
    register
}

fn place(channel: &[u8]) -> Place {
    Place {
        channel: channel.into(),
        generation: 1,
    }
}

/// Waits for the answer to a look. Returns the most requests that were under way.
async fn looked(register: &mut NatsRegister) -> usize {
    let mut most = 0;
    let event = poll_fn(|cx| {
        let event = register.poll(cx);
        most = most.max(register.link.in_flight());
        event
    });
    let event = timeout(DEADLINE, event).await.expect("the look ends");
    let Event::Answer(Request::Index(..), Ok(Reply::Index(found))) = event.unwrap() else {
        panic!("it is no answer to a look");
    };
    assert!(found.is_empty());
    most
}

#[test]
fn a_look_begins_when_what_fills_the_link_was_written() {
    run(async {
        let mut register = register(1).await;
        for number in 0..100 {
            let channel = format!("{number:03000}");
            register.subscribe(place(channel.as_bytes()), Instant::now());
        }
        assert!(!register.has_much_room());
        let look = ((place(b"room"), 1), Vec::new());
        register.looks.ready.push_back(look);
        looked(&mut register).await;
        assert!(register.is_idle());
    });
}

#[test]
fn looks_wait_while_many_questions_are_not_answered() {
    const SESSIONS: usize = 300;
    const LOOKS: usize = 8;
    run(async {
        let mut register = register(SESSIONS.try_into().unwrap()).await;
        let looks = (0..LOOKS).map(|_| ((place(b"room"), 1), Vec::new()));
        register.looks.ready.extend(looks);
        let mut most = 0;
        for _ in 0..LOOKS {
            most = most.max(looked(&mut register).await);
        }
        // the last one that is begun has a question for each session
        assert!((MOST_IN_FLIGHT..MOST_IN_FLIGHT + SESSIONS).contains(&most));
        assert!(register.is_idle());
    });
}

/// Only bounds a hang.
const DEADLINE: Duration = Duration::from_secs(60);
