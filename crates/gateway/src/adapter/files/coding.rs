//! Content codings: which ones a client accepts (`Accept-Encoding`), and the precompressed siblings of a file.

use http::HeaderMap;
use http::header::{ACCEPT_ENCODING, HeaderName};

/// How the bytes of a file are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Brotli,
    Zstd,
    Gzip,
    Identity,
}

impl Coding {
    /// All codings, the best one first.
    pub(super) const ALL: [Self; 4] = [Self::Brotli, Self::Zstd, Self::Gzip, Self::Identity];

    /// The codings of precompressed siblings.
    pub(super) const PRECOMPRESSED: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// What the name of a sibling with this coding adds to the file's name.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
            Self::Identity => "",
        }
    }

    /// The name of the coding in HTTP.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
            Self::Identity => "identity",
        }
    }

    fn named(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("x-gzip") {
            return Some(Self::Gzip);
        }
        Self::ALL
            .into_iter()
            .find(|coding| name.eq_ignore_ascii_case(coding.name()))
    }
}

/// The client's weight of each coding: 0 to 1,000 for each of [`Coding::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepted([u16; 4]);

impl Accepted {
    /// Reads the header. Without it only the file itself is sent: a client that can decode announces it.
    pub(super) fn read(headers: &HeaderMap) -> Self {
        let mut weights = [None; 4];
        let mut others = None;
        for (name, weight) in weighted(headers, &ACCEPT_ENCODING) {
            if name == "*" {
                others = Some(weight);
            } else if let Some(coding) = Coding::named(name) {
                weights[place(coding)] = Some(weight);
            }
        }
        let mut accepted = weights.map(|weight| weight.or(others).unwrap_or(0));
        // a client that refuses everything still gets the file itself; among equal weights it is the last choice
        let identity = &mut accepted[place(Coding::Identity)];
        *identity = weights[place(Coding::Identity)].or(others).unwrap_or(1);
        Self(accepted)
    }

    /// The coding among those that are `there` with the greatest weight; among equal weights the better coding.
    pub(super) fn choose(self, there: impl Fn(Coding) -> bool) -> Coding {
        let mut best = (Coding::Identity, 0);
        for coding in Coding::ALL {
            let weight = self.0[place(coding)];
            if weight > best.1 && there(coding) {
                best = (coding, weight);
            }
        }
        best.0
    }
}

/// The elements of a list with weights: `br;q=0.8, gzip`. An element whose weight cannot be parsed has weight 0.
pub(super) fn weighted<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = (&'h str, u16)> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .map(|element| {
            let mut parts = element.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let weight = parts
                .find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")))
                .map_or(1000, |weight| thousandths(weight).unwrap_or(0));
            (name, weight)
        })
}

/// Parses `0.75` as 750.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction = format!("{fraction:0<3}").parse::<u16>().ok()?;
    match whole {
        "0" => Some(fraction),
        "1" => (fraction == 0).then_some(1000),
        _ => None,
    }
}

fn place(coding: Coding) -> usize {
    match coding {
        Coding::Brotli => 0,
        Coding::Zstd => 1,
        Coding::Gzip => 2,
        Coding::Identity => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn chosen(accept: Option<&str>, there: &[Coding]) -> Coding {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_str(accept).unwrap());
        }
        Accepted::read(&headers).choose(|coding| there.contains(&coding))
    }

    #[test]
    fn the_client_chooses_and_among_equal_weights_the_best_coding_wins() {
        for (accept, coding) in [
            (None, Coding::Identity),
            (Some(""), Coding::Identity),
            (Some("gzip, deflate, br, zstd"), Coding::Brotli),
            (Some("gzip, zstd"), Coding::Zstd),
            (Some("x-gzip"), Coding::Gzip),
            (Some("GZIP;q=1.0, br;q=0.9"), Coding::Gzip),
            (Some("br;q=0, gzip"), Coding::Gzip),
            (Some("br ; q=0.001"), Coding::Brotli),
            (Some("*"), Coding::Brotli),
            (Some("*;q=0.5, gzip"), Coding::Gzip),
            (Some("*, br;q=0"), Coding::Zstd),
            (Some("identity, br;q=0.5"), Coding::Identity),
            (Some("identity;q=0.5, gzip;q=0.4"), Coding::Identity),
            (Some("*;q=0"), Coding::Identity),
            (Some("identity;q=0"), Coding::Identity),
            (Some("deflate"), Coding::Identity),
            (Some("br;q=2, gzip"), Coding::Gzip),
            (Some("br;q=, gzip;q=0.1"), Coding::Gzip),
            (Some("br;q=0.1234, gzip;q=0.1"), Coding::Gzip),
        ] {
            assert_eq!(chosen(accept, &Coding::ALL), coding, "{accept:?}");
        }
    }

    #[test]
    fn only_existing_codings_are_chosen() {
        let there = [Coding::Identity, Coding::Gzip];
        assert_eq!(chosen(Some("br, gzip;q=0.1"), &there), Coding::Gzip);
        assert_eq!(chosen(Some("br"), &there), Coding::Identity);
    }
}
