//! Offers, answers and refusals of both roles.

use super::*;

fn first(lines: &[&str]) -> Result<Option<Offer>, Malformed> {
    Offer::first(lines.iter().map(|line| line.as_bytes()))
}

fn bits(number: u8) -> WindowBits {
    WindowBits::new(number).unwrap()
}

fn shown(terms: Terms) -> String {
    let mut out = Vec::new();
    terms.append(&mut out);
    String::from_utf8(out).unwrap()
}

const GENEROUS: Wishes = Wishes {
    server_takeover: true,
    client_takeover: true,
    server_window: WindowBits::MOST,
    client_window: WindowBits::MOST,
};

#[test]
fn every_parameter_is_read() {
    let offer = first(&[
        "permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=8; \
         client_max_window_bits=\"15\"",
    ]);
    let expected = Offer {
        server_no_context_takeover: true,
        client_no_context_takeover: true,
        server_max_window_bits: Some(bits(8)),
        client_max_window_bits: ClientWindow::AtMost(bits(15)),
    };
    assert_eq!(offer, Ok(Some(expected)));
    let offer = first(&["permessage-deflate;client_max_window_bits"])
        .unwrap()
        .unwrap();
    assert_eq!(offer.client_max_window_bits, ClientWindow::Any);
    assert_eq!(first(&["permessage-deflate"]), Ok(Some(Offer::default())));
}

#[test]
fn offers_with_wrong_parameters_are_declined() {
    for params in [
        "unknown",
        "unknown=1",
        "server_no_context_takeover=1",
        "server_no_context_takeover; server_no_context_takeover",
        "client_no_context_takeover=true",
        "client_no_context_takeover; client_no_context_takeover",
        "server_max_window_bits",
        "server_max_window_bits=7",
        "server_max_window_bits=16",
        "server_max_window_bits=08",
        "server_max_window_bits=010",
        "server_max_window_bits=1",
        "server_max_window_bits=100",
        "server_max_window_bits=a",
        "server_max_window_bits=8; server_max_window_bits=8",
        "client_max_window_bits=7",
        "client_max_window_bits=16",
        "client_max_window_bits=09",
        "client_max_window_bits; client_max_window_bits",
        "client_max_window_bits; client_max_window_bits=9",
        "client_max_window_bits=9; client_max_window_bits",
        "Server_No_Context_Takeover",
        "client_max_window_bits; unknown",
        "unknown; client_max_window_bits",
    ] {
        let bad = format!("permessage-deflate; {params}");
        assert_eq!(first(&[&bad]), Ok(None), "{params}");
        let fallback = format!("{bad}, permessage-deflate; server_max_window_bits=10");
        let offer = first(&[&fallback]).unwrap().unwrap();
        assert_eq!(offer.server_max_window_bits, Some(bits(10)), "{params}");
        assert_eq!(
            first(&[&bad, "permessage-deflate"]),
            Ok(Some(Offer::default()))
        );
    }
}

#[test]
fn the_first_acceptable_offer_counts_wherever_it_is() {
    for lines in [
        &["permessage-deflate; server_max_window_bits=9, permessage-deflate"][..],
        &[
            "permessage-deflate; server_max_window_bits=9",
            "permessage-deflate",
        ],
        &[
            "x-webkit-deflate-frame",
            "other; server_no_context_takeover, permessage-deflate; server_max_window_bits=9",
        ],
        &[
            "permessage-deflate; server_max_window_bits=99, , permessage-deflate; server_max_window_bits=9, x",
        ],
    ] {
        let offer = first(lines).unwrap().unwrap();
        assert_eq!(offer.server_max_window_bits, Some(bits(9)), "{lines:?}");
        assert!(!offer.server_no_context_takeover);
    }
    assert_eq!(first(&[]), Ok(None));
    assert_eq!(
        first(&["permessage-deflates, deflate, Permessage-Deflate"]),
        Ok(None)
    );
}

#[test]
fn a_malformed_line_is_an_error_even_after_a_good_offer() {
    for line in [
        "",
        "permessage-deflate;",
        "permessage-deflate; =",
        "permessage-deflate, a b",
    ] {
        assert_eq!(first(&[line]), Err(Malformed), "{line}");
        assert_eq!(
            first(&["permessage-deflate", line]),
            Err(Malformed),
            "{line}"
        );
    }
}

#[test]
fn the_answer_has_what_was_offered_and_what_is_wished() {
    let modest = Wishes {
        server_takeover: false,
        client_takeover: false,
        server_window: bits(11),
        client_window: bits(12),
    };
    for (offer, generous, modestly) in [
        (
            "",
            "",
            "; server_no_context_takeover; client_no_context_takeover",
        ),
        (
            "; client_max_window_bits",
            "",
            "; server_no_context_takeover; client_no_context_takeover; client_max_window_bits=12",
        ),
        (
            "; client_max_window_bits=9; server_max_window_bits=10",
            "; server_max_window_bits=10; client_max_window_bits=9",
            "; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=10; client_max_window_bits=9",
        ),
        (
            "; server_max_window_bits=15; client_max_window_bits=15; server_no_context_takeover",
            "; server_no_context_takeover; server_max_window_bits=15",
            "; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=11; client_max_window_bits=12",
        ),
        (
            "; client_no_context_takeover",
            "; client_no_context_takeover",
            "; server_no_context_takeover; client_no_context_takeover",
        ),
    ] {
        let line = format!("permessage-deflate{offer}");
        let offer = first(&[&line]).unwrap().unwrap();
        for (wishes, expected) in [(GENEROUS, generous), (modest, modestly)] {
            let terms = wishes.meet(&offer);
            let answer = shown(terms);
            assert_eq!(answer, format!("permessage-deflate{expected}"), "{line}");
            assert_eq!(offer.judge([answer.as_bytes()]), Ok(Some(terms)), "{line}");
        }
    }
}

#[test]
fn offers_are_written_as_they_are_read() {
    for server_max_window_bits in [None, Some(bits(8)), Some(bits(15))] {
        for client_max_window_bits in [
            ClientWindow::Fixed,
            ClientWindow::Any,
            ClientWindow::AtMost(bits(10)),
        ] {
            for (server, client) in [(false, false), (true, false), (false, true), (true, true)] {
                let offer = Offer {
                    server_no_context_takeover: server,
                    client_no_context_takeover: client,
                    server_max_window_bits,
                    client_max_window_bits,
                };
                let mut out = Vec::new();
                offer.append(&mut out);
                assert_eq!(Offer::first([&out[..]]), Ok(Some(offer)));
                for wishes in [
                    GENEROUS,
                    Wishes {
                        client_takeover: false,
                        client_window: bits(8),
                        ..GENEROUS
                    },
                ] {
                    let terms = wishes.meet(&offer);
                    assert_eq!(offer.judge([shown(terms).as_bytes()]), Ok(Some(terms)));
                }
            }
        }
    }
}

#[test]
fn a_client_refuses_what_it_did_not_offer() {
    let plain = Offer::default();
    let precise = Offer {
        server_no_context_takeover: true,
        server_max_window_bits: Some(bits(10)),
        client_max_window_bits: ClientWindow::AtMost(bits(10)),
        ..plain
    };
    let good = "permessage-deflate; server_no_context_takeover; server_max_window_bits=10";
    assert!(matches!(precise.judge([good.as_bytes()]), Ok(Some(_))));
    for lines in [
        &["other"][..],
        &["permessage-deflate, other"],
        &["permessage-deflate, permessage-deflate"],
        &["permessage-deflate", "permessage-deflate"],
        &["permessage-deflate; unknown"],
        &["permessage-deflate; client_max_window_bits=10"],
        &["permessage-deflate; client_max_window_bits"],
        &["permessage-deflate; server_max_window_bits=16"],
        &["permessage-deflate; server_max_window_bits"],
        &["permessage-deflate; server_no_context_takeover; server_no_context_takeover"],
        &["permessage-deflate; server_no_context_takeover=1"],
        &[""],
    ] {
        let judged = plain.judge(lines.iter().map(|line| line.as_bytes()));
        assert_eq!(judged, Err(Malformed), "{lines:?}");
    }
    for answer in [
        "permessage-deflate",
        "permessage-deflate; server_no_context_takeover",
        "permessage-deflate; server_max_window_bits=10",
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=11",
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=9; client_max_window_bits=11",
    ] {
        assert_eq!(
            precise.judge([answer.as_bytes()]),
            Err(Malformed),
            "{answer}"
        );
    }
    assert_eq!(plain.judge([]), Ok(None));
    let unasked = "permessage-deflate; client_no_context_takeover; server_max_window_bits=9";
    let terms = plain.judge([unasked.as_bytes()]).unwrap().unwrap();
    assert_eq!(
        (terms.server_window(), terms.client_window()),
        (bits(9), bits(15))
    );
}
