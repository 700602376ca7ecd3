//! Giving a parser bytes as a connection does: in pieces, each behind what was not consumed before. Only in tests and with the
//! feature `fuzzing`.

use super::WireError;

/// Gives these bytes, split alternately into pieces of two sizes, until `read` fails; returns why. `read` gets what was not
/// consumed and the number of bytes that were given in all, and returns how many it has consumed.
///
/// # Panics
///
/// If more was consumed than was given.
pub(crate) fn in_pieces(
    bytes: &[u8],
    steps: [usize; 2],
    mut read: impl FnMut(&[u8], usize) -> Result<usize, WireError>,
) -> Option<String> {
    let (mut input, mut given) = (Vec::new(), 0);
    let mut sizes = steps.into_iter().cycle();
    let mut rest = bytes;
    while let (false, Some(size)) = (rest.is_empty(), sizes.next()) {
        let (piece, behind) = rest.split_at(size.clamp(1, rest.len()));
        rest = behind;
        given += piece.len();
        input.extend_from_slice(piece);
        match read(&input, given) {
            Ok(used) => {
                assert!(used <= input.len());
                input.drain(..used);
            }
            Err(error) => return Some(error.to_string()),
        }
    }
    None
}
