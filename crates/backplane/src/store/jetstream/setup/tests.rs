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
        (10_059, true),
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

#[test]
fn a_stream_that_does_not_listen_yet_is_awaited() {
    let made = "{\"config\":{\"subjects\":[\"app!h.x.>\"]},\"created\":\"2026-11-28\"}";
    let own = made.replace("{\"config", "{\"did_create\":true,\"config");
    let missing = "{\"error\":{\"code\":404,\"err_code\":10059}}";
    let nobody = "{\"error\":{\"code\":503,\"err_code\":10008}}";
    let other = "{\"error\":{\"code\":400,\"err_code\":10060}}";
    let [info, create, record] = [
        "$JS.API.STREAM.INFO.s",
        "$JS.API.STREAM.CREATE.s",
        "app!h.x.-",
    ];
    for (answers, expected) in [
        (
            vec![made, nobody, nobody, other],
            vec![info, record, record, record],
        ),
        (vec![missing, made, other], vec![info, create, record]),
        (vec![missing, &own], vec![info, create]),
    ] {
        let mut answers: Vec<_> = answers.into_iter().map(str::to_owned).rev().collect();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&asked);
        run(async {
            let mut link = link(move |subject| {
                noted.lock().unwrap().push(subject.to_owned());
                answers.pop().unwrap_or_default()
            })
            .await;
            let plan = Plan {
                has: vec!["app!h.x.>".to_owned()],
                ..plan(true)
            };
            prepare(&mut link, &[plan], || ()).await.unwrap();
        });
        assert_eq!(*asked.lock().unwrap(), expected);
    }
}

#[test]
fn a_stream_that_another_node_makes_at_the_same_moment_is_no_other_one() {
    let missing = "{\"error\":{\"code\":404,\"err_code\":10059}}";
    let overlaps = "{\"error\":{\"err_code\":10065,\"description\":\"subjects overlap\"}}";
    let made = "{\"config\":{},\"created\":\"2026-11-28\"}";
    for (answers, is_made) in [
        (vec![missing, overlaps, made], true),
        (vec![missing, overlaps, missing, made], true),
        (vec![missing, overlaps, missing, missing], false),
    ] {
        let mut answers = answers.into_iter();
        run(async {
            let mut link = link(move |_| answers.next().unwrap_or_default().to_owned()).await;
            match prepare(&mut link, &[plan(true)], || ()).await {
                Ok(created) => assert!(is_made && created == [(*b"2026-11-28").into()]),
                Err(error) => assert!(!is_made && error.to_string().contains("overlap"), "{error}"),
            }
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
fn a_server_that_loses_its_first_answer_is_asked_again() {
    let mut is_first = true;
    is_made(move |made| {
        let is_lost = std::mem::replace(&mut is_first, false);
        if is_lost { "" } else { made }.to_owned()
    });
}

#[test]
fn a_server_whose_answers_are_all_late_is_understood() {
    is_made(|made| {
        std::thread::sleep(ANSWER + ANSWER / 2);
        made.to_owned()
    });
}

/// A server that answers so, if it is given an answer, lets a stream be known.
fn is_made(mut answer: impl FnMut(&str) -> String + Send + 'static) {
    run(async {
        let made = "{\"config\":{},\"created\":\"2026-11-28\"}";
        let mut link = link(move |_| answer(made)).await;
        let created = prepare(&mut link, &[plan(true)], || ()).await.unwrap();
        assert_eq!(created, [(*b"2026-11-28").into()]);
        assert!(link.is_idle());
    });
}

/// Why a stream cannot be used whose server answers this, first what is asked of it and then a record.
fn told(answers: Option<[&'static str; 2]>) -> String {
    let mut told = String::new();
    run(async {
        let mut link = link(move |subject| match answers {
            Some([info, record]) => {
                let is_record = !subject.starts_with("$JS.API");
                if is_record { record } else { info }.to_owned()
            }
            // it ends with the test
            None => loop {
                std::thread::park();
            },
        })
        .await;
        // as long as a busy machine needs for an answer
        let patience = Duration::from_millis(if answers.is_some() { 2000 } else { 200 });
        let plan = Plan {
            has: vec!["app!h.x.>".to_owned()],
            ..plan(true)
        };
        let made = prepare_within(patience, &mut link, &[plan], || ()).await;
        told = made.unwrap_err().to_string();
    });
    told
}

#[test]
fn what_takes_too_long_is_told() {
    let being_made = "{\"config\":{},\"created\":\"0001-01-01T00:00:00Z\"}";
    let made = "{\"config\":{\"subjects\":[\"app!h.x.>\"]},\"created\":\"2026-11-28\"}";
    let nobody = "{\"error\":{\"code\":503,\"err_code\":10008}}";
    for (answers, why) in [
        (
            Some([being_made, ""]),
            "stream s is still being made, as another node",
        ),
        (Some([made, nobody]), "no server leads stream s"),
        (None, "does not answer what is asked of stream s"),
    ] {
        let told = told(answers);
        assert!(told.contains(why), "{told}");
    }
}
