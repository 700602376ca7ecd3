//! Reads the header of the PROXY protocol from a connection.

use std::io;

use millrace_protocol::proxy::{LONGEST, Source, parse};
use tokio::io::AsyncReadExt;

use crate::net::stream::Stream;

/// Reads the header. The bytes behind it remain in the returned stream. The caller sets the deadline.
pub(crate) async fn read(mut stream: Stream) -> io::Result<(Source, Stream)> {
    let mut bytes = Vec::with_capacity(USUAL);
    loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let header = parse(&bytes);
        let header = header.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        if let Some(header) = header {
            let rest = bytes.split_off(header.length);
            return Ok((header.source, stream.with_early(rest)));
        }
        // the reader needs no more than this, so the buffer grows only so far
        bytes.reserve_exact(LONGEST.saturating_sub(bytes.len()).min(USUAL));
    }
}

/// More bytes than any header without extensions has.
const USUAL: usize = 256;
