//! No bytes make the decoder of RESP panic, hold much more than it was given, read differently when they come in pieces,
//! or give a request that does not read the same when it is written again. The first three bytes say how it is cut, and
//! whether the peer is unauthenticated.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_fuzz::cut;
use millrace_protocol::resp::{Decoder, Reply, RequestError, RequestLimits, Version};

const ARGUMENT_BYTES: usize = 1000;

type Requests = Vec<Vec<Vec<u8>>>;

fuzz_target!(|bytes: &[u8]| {
    let [step, other, unauthenticated, stream @ ..] = bytes else {
        return;
    };
    let limits = RequestLimits {
        argument_bytes: ARGUMENT_BYTES,
        unauthenticated: unauthenticated % 2 == 1,
    };
    let (whole, error) = decode(&limits, [stream]);
    let steps = [usize::from(*step) + 1, usize::from(*other) + 1];
    assert_eq!(decode(&limits, cut(stream, steps)), (whole.clone(), error));
    assert_eq!(decode(&limits, stream.chunks(1)), (whole.clone(), error));

    // what may be said in one way is understood in another
    let written: Vec<u8> = whole.iter().flat_map(|one| write(one)).collect();
    let friend = RequestLimits {
        argument_bytes: 1 << 20,
        unauthenticated: false,
    };
    assert_eq!(decode(&friend, [&written[..]]), (whole, None));
});

fn decode<'a>(
    limits: &RequestLimits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Requests, Option<RequestError>) {
    let (mut decoder, mut requests, mut given) = (Decoder::new(), Requests::new(), 0);
    for piece in pieces {
        let mut input = piece;
        loop {
            match decoder.next(&mut input, limits) {
                Ok(Some(request)) => {
                    assert!(request.count() > 0);
                    requests.push(request.iter().map(<[u8]>::to_vec).collect());
                }
                Ok(None) => break,
                Err(error) => return (requests, Some(error)),
            }
        }
        given += piece.len();
        assert!(input.is_empty());
        assert!(decoder.unfinished().unwrap_or_default() <= given);
        // an argument takes at least six bytes, and what grows doubles
        assert!(decoder.held_bytes() <= 5 * given + 200);
    }
    (requests, None)
}

fn write(words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut reply = Reply::new(Version::Resp2, &mut bytes);
    reply.array(words.len());
    words.iter().for_each(|word| reply.bulk(word));
    bytes
}
