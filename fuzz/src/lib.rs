//! Functions that several fuzz targets use.

/// Splits a stream alternately into pieces of two sizes. Neither size may be 0.
pub fn cut(stream: &[u8], steps: [usize; 2]) -> Vec<&[u8]> {
    let (mut rest, mut pieces) = (stream, Vec::new());
    for turn in 0.. {
        if rest.is_empty() {
            break;
        }
        let (piece, behind) = rest.split_at(steps[turn % 2].min(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}
