//! The key of a NATS user, which signs what a server sends at the start of a connection. Owns the formats in which such
//! keys are given: a seed, or a file with a seed and a token.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::{KeyPair, KeyPairType};

/// See the module. It never shows its seed.
#[derive(Clone)]
pub struct Signer {
    key: Arc<KeyPair>,
    token: Option<Arc<str>>,
}

/// Why a key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignerError {
    /// It is no seed, or it has a typing error.
    #[error("is not the seed of an NKey, which begins with SU and has 58 characters")]
    Seed,
    /// It is the seed of an account, an operator or a server.
    #[error("is the seed of an NKey that does not belong to a user")]
    NoUser,
    /// A part of the file is missing.
    #[error(
        "is not a credentials file of NATS, which has a token (NATS USER JWT) and a seed (USER NKEY SEED)"
    )]
    File,
}

impl Signer {
    /// From a seed (`SU…`), for a user that the server knows by the public key.
    pub fn from_seed(seed: &str) -> Result<Self, SignerError> {
        let key = KeyPair::from_seed(seed.trim()).map_err(|_| SignerError::Seed)?;
        if key.key_pair_type() != KeyPairType::User {
            return Err(SignerError::NoUser);
        }
        Ok(Self {
            key: Arc::new(key),
            token: None,
        })
    }

    /// From the contents of a credentials file, as the tool `nsc` writes it.
    pub fn from_file(contents: &[u8]) -> Result<Self, SignerError> {
        let contents = str::from_utf8(contents).map_err(|_| SignerError::File)?;
        let token = section(contents, "NATS USER JWT").ok_or(SignerError::File)?;
        let seed = section(contents, "USER NKEY SEED").ok_or(SignerError::File)?;
        Ok(Self {
            token: Some(token.into()),
            ..Self::from_seed(seed)?
        })
    }

    /// The fields of `CONNECT` that prove who we are, for the server's random text.
    pub(crate) fn fields(&self, nonce: &str) -> Vec<(&'static str, String)> {
        // signing fails only without a seed, and there always is one
        let signature = self.key.sign(nonce.as_bytes()).unwrap_or_default();
        let signature = ("sig", URL_SAFE_NO_PAD.encode(signature));
        match &self.token {
            Some(token) => vec![("jwt", token.to_string()), signature],
            None => vec![("nkey", self.key.public_key()), signature],
        }
    }
}

/// The line behind the one that begins a section. The lines around it have any number of hyphens from three on.
fn section<'t>(contents: &'t str, name: &str) -> Option<&'t str> {
    let mut lines = contents.lines().map(str::trim);
    lines.find(|line| {
        let title = line.trim_matches('-').strip_prefix("BEGIN ");
        line.starts_with("---") && title == Some(name)
    })?;
    lines
        .find(|line| !line.is_empty())
        .filter(|line| !line.starts_with('-'))
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("public_key", &self.key.public_key())
            .finish_non_exhaustive()
    }
}

impl PartialEq for Signer {
    fn eq(&self, other: &Self) -> bool {
        self.token == other.token && self.key.public_key() == other.key.public_key()
    }
}

impl Eq for Signer {}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed() -> String {
        KeyPair::new_user().seed().unwrap()
    }

    fn file(seed: &str) -> String {
        format!(
            "-----BEGIN NATS USER JWT-----\r\neyJ0.e30.sig\r\n------END NATS USER JWT------\r\n\r\n\
            ************ IMPORTANT ************\r\n\r\n\
            -----BEGIN USER NKEY SEED-----\r\n{seed}\r\n------END USER NKEY SEED------\r\n"
        )
    }

    #[test]
    fn a_seed_signs_what_the_server_has_sent() {
        let seed = seed();
        let signer = Signer::from_seed(&format!(" {seed}\n")).unwrap();
        let fields = signer.fields("nonce");
        let [("nkey", public), ("sig", signature)] = &fields[..] else {
            panic!("{fields:?}")
        };
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let public = KeyPair::from_public_key(public).unwrap();
        public.verify(b"nonce", &signature).unwrap();
        assert!(!format!("{signer:?}").contains(&seed));
    }

    #[test]
    fn a_credentials_file_has_a_token_and_a_seed() {
        let seed = seed();
        let signer = Signer::from_file(file(&seed).as_bytes()).unwrap();
        let fields = signer.fields("nonce");
        assert_eq!(fields[0], ("jwt", "eyJ0.e30.sig".to_owned()));
        assert_eq!(
            fields[1],
            Signer::from_seed(&seed).unwrap().fields("nonce")[1]
        );
        let whole = file(&seed);
        for part in ["NATS USER JWT", "USER NKEY SEED", "eyJ0.e30.sig\r\n"] {
            let broken = whole.replace(part, "");
            assert_eq!(Signer::from_file(broken.as_bytes()), Err(SignerError::File));
        }
        assert_eq!(Signer::from_file(b"\xff"), Err(SignerError::File));
        assert_eq!(
            Signer::from_file(file("SUA").as_bytes()),
            Err(SignerError::Seed)
        );
    }

    #[test]
    fn other_keys_are_refused() {
        let account = KeyPair::new_account().seed().unwrap();
        assert_eq!(Signer::from_seed(&account), Err(SignerError::NoUser));
        let public = KeyPair::new_user().public_key();
        for wrong in ["", "SU", &public, "SUAM", &seed().replace('U', "V")] {
            assert_eq!(Signer::from_seed(wrong), Err(SignerError::Seed), "{wrong}");
        }
    }
}
