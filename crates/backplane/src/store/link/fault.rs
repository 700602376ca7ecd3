//! Why a command has no result: whether anything was done, and whether the link can go on. Owns the meaning of the
//! server's errors.

use crate::wire::shown;

/// Why a command has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The store does not have the script. Nothing was done.
    NoScript,
    /// This server cannot do it at present, and another one may. Nothing was done.
    Unfit(String),
    /// The message is in the store, but nobody was told.
    Untold(String),
    /// The store refused. Nothing was done.
    Refused(String),
    /// The link was lost.
    Lost,
    /// There was no answer in time.
    Late,
}

impl Fault {
    /// What an error of the server means.
    pub(super) fn new(code: &str, details: &str) -> Self {
        let text = || shown(format!("{code} {details}").as_bytes());
        match code {
            "NOSCRIPT" => Fault::NoScript,
            "READONLY" | "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "MOVED" | "ASK"
            | "TRYAGAIN" => Fault::Unfit(text()),
            // what Redis 6 says about it within a script
            "ERR" if details.contains("READONLY ") => Fault::Unfit(text()),
            "UNTOLD" => Fault::Untold(text()),
            _ => Fault::Refused(text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_whether_anything_was_done() {
        assert_eq!(
            Fault::new("NOSCRIPT", "No matching script."),
            Fault::NoScript
        );
        let unfit = Fault::Unfit("READONLY You can't write".to_owned());
        assert_eq!(Fault::new("READONLY", "You can't write"), unfit);
        assert_eq!(
            Fault::new("UNTOLD", "x"),
            Fault::Untold("UNTOLD x".to_owned())
        );
        assert_eq!(Fault::new("OOM", "x"), Fault::Refused("OOM x".to_owned()));
    }
}
