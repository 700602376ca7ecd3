//! The output of a decoder, in a form that tests can compare.

use millrace_protocol::resp::{Decoder, Reply, RequestError, RequestLimits, Version};

/// Limits for tests.
pub(crate) const LIMITS: RequestLimits = RequestLimits {
    argument_bytes: 1000,
    unauthenticated: false,
};

/// The requests in order, the error that ended decoding, and the bytes of an incomplete request.
pub(crate) type Seen = (Vec<Vec<Vec<u8>>>, Option<RequestError>, Option<usize>);

/// Feeds pieces to a new decoder until it fails.
pub(crate) fn decode<'a>(
    limits: &RequestLimits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Seen {
    let (mut decoder, mut requests) = (Decoder::new(), Vec::new());
    for piece in pieces {
        let mut input = piece;
        loop {
            match decoder.next(&mut input, limits) {
                Ok(Some(request)) => requests.push(request.iter().map(<[u8]>::to_vec).collect()),
                Ok(None) => break,
                Err(error) => return (requests, Some(error), None),
            }
        }
        assert!(input.is_empty());
    }
    (requests, None, decoder.unfinished())
}

/// A request as clients encode it.
pub(crate) fn request(arguments: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut reply = Reply::new(Version::Resp2, &mut bytes);
    reply.array(arguments.len());
    for argument in arguments {
        reply.bulk(argument.as_ref());
    }
    bytes
}
