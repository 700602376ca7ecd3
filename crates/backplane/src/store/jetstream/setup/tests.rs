//! Streams that exist, are missing, are being made, or are refused, with a server that gives the answers of a list.

use std::sync::{Arc, Mutex};

use super::super::responder::{link, run};
use super::*;

fn plan(is_shared: bool) -> Plan {
    Plan {
        name: "s".to_owned(),
        config: "{}".to_owned(),
        bounds: Vec::new(),
        has: Vec::new(),
        is_shared,
        purpose: "tests",
    }
}

#[test]
fn copies_of_a_stream_that_nodes_share_need_a_new_server() {
    // this one does not say its version
    let answer = |copies: u64| {
        format!("{{\"config\":{{\"num_replicas\":{copies}}},\"created\":\"2026-11-28\"}}")
    };
    for (copies, is_shared, is_fit) in [(1, true, true), (3, true, false), (3, false, true)] {
        run(async {
            let mut link = link(move |_| answer(copies)).await;
            let made = prepare(&mut link, &[plan(is_shared)], || ()).await;
            assert_eq!(made.is_ok(), is_fit, "{copies} {is_shared}");
        });
    }
}

#[test]
fn a_stream_that_is_being_made_for_another_node_is_awaited() {
    let made = "{\"config\":{\"name\":\"s\"},\"created\":\"2026-11-28T10:00:00Z\"}";
    let being_made = made.replace("2026-11-28T10", "0001-01-01T00");
    let missing = "{\"error\":{\"code\":404,\"err_code\":10059}}".to_owned();
    let found = vec![being_made.clone(), made.to_owned()];
    let told = vec![missing, being_made.clone(), being_made, made.to_owned()];
    for answers in [found, told] {
        let mut answers = answers.into_iter();
        run(async {
            let mut link = link(move |_| answers.next().unwrap_or_default()).await;
            let created = prepare(&mut link, &[plan(true)], || ()).await.unwrap();
            assert_eq!(created, [(*b"2026-11-28T10:00:00Z").into()]);
        });
    }
}

#[test]
fn a_reason_that_passes_is_told_apart_from_one_that_lasts() {
    for (number, passes) in [
        (10_118, true),
        (10_008, true),
        (10_004, true),
        (10_052, false),
        (10_047, false),
        (10_076, false),
    ] {
        run(async {
            let answer = format!("{{\"error\":{{\"err_code\":{number},\"description\":\"no\"}}}}");
            let mut link = link(move |_| answer.clone()).await;
            let error = prepare(&mut link, &[plan(true)], || ()).await;
            let error = error.unwrap_err();
            assert_eq!(matches!(error, LinkError::Unready(..)), passes, "{error}");
            assert_eq!(matches!(error, LinkError::Unfit(..)), !passes, "{error}");
        });
    }
}

/// Another node makes it at the same time.
#[test]
fn a_stream_that_a_node_with_other_bounds_has_made_meanwhile_is_changed() {
    let missing = "{\"error\":{\"code\":404,\"err_code\":10059}}";
    let in_use = "{\"error\":{\"code\":400,\"err_code\":10058}}";
    let made = "{\"config\":{\"max_age\":7},\"created\":\"2026-11-28\"}";
    let mut answers = [missing, in_use, made, made].into_iter();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&asked);
    run(async {
        let mut link = link(move |subject| {
            noted.lock().unwrap().push(subject.to_owned());
            answers.next().unwrap_or_default().to_owned()
        })
        .await;
        let bounds = vec![("max_age", 5)];
        let plan = Plan {
            bounds,
            ..plan(true)
        };
        let created = prepare(&mut link, &[plan], || ()).await.unwrap();
        assert_eq!(created, [(*b"2026-11-28").into()]);
    });
    let verbs = ["INFO", "CREATE", "INFO", "UPDATE"];
    let expected = verbs.map(|verb| format!("$JS.API.STREAM.{verb}.s"));
    assert_eq!(*asked.lock().unwrap(), expected);
}

#[test]
fn what_takes_too_long_is_told() {
    let being_made = "{\"config\":{},\"created\":\"0001-01-01T00:00:00Z\"}";
    let told = |answers: Option<&'static str>| {
        let mut told = String::new();
        run(async {
            let mut link = link(move |_| match answers {
                Some(answer) => answer.to_owned(),
                // it ends with the test
                None => loop {
                    std::thread::park();
                },
            })
            .await;
            let patience = Duration::from_millis(200);
            let made = prepare_within(patience, &mut link, &[plan(true)], || ()).await;
            told = made.unwrap_err().to_string();
        });
        told
    };
    let other = told(Some(being_made));
    assert!(
        other.contains("stream s is still being made, as another node"),
        "{other}"
    );
    let nobody = told(None);
    assert!(nobody.contains("does not answer"), "{nobody}");
}
