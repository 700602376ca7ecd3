//! No bytes make the decoder of RESP panic, hold much more than it was given, decode differently when they come in
//! pieces, or yield a request that does not decode to itself when it is encoded again. The first three bytes choose how
//! the rest is split, and whether the peer is unauthenticated.
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

    // an inline request is encoded as an array and must decode to the same arguments
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
        // an argument takes at least six bytes, and a growing buffer doubles its capacity
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
