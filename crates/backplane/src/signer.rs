//! The key of a NATS user, which signs what a server sends at the start of a connection. Owns the formats in which such
//! keys are given: a seed, or a file with a seed and a token.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::encoding::{base32, from_base32};

/// See the module. It never shows its seed.
#[derive(Clone)]
pub struct Signer {
    key: Arc<Ed25519KeyPair>,
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
    ///
    /// Source: <https://docs.nats.io/reference/reference-protocols/nats-protocol-demo>; the format is that of the library
    /// `nkeys` of NATS: two bytes with the kinds, 32 bytes of the key, and their CRC-16.
    pub fn from_seed(seed: &str) -> Result<Self, SignerError> {
        let bytes = from_base32(seed.trim().as_bytes()).ok_or(SignerError::Seed)?;
        let (body, checksum) = bytes.split_last_chunk::<2>().ok_or(SignerError::Seed)?;
        let ([first, second], key) = body.split_first_chunk::<2>().ok_or(SignerError::Seed)?;
        if crc16(body).to_le_bytes() != *checksum || first & 0xf8 != SEED {
            return Err(SignerError::Seed);
        }
        if (first & 7) << 5 | second >> 3 != USER {
            return Err(SignerError::NoUser);
        }
        let key = Ed25519KeyPair::from_seed_unchecked(key).map_err(|_| SignerError::Seed)?;
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
        let signature = self.key.sign(nonce.as_bytes());
        let signature = ("sig", URL_SAFE_NO_PAD.encode(signature));
        match &self.token {
            Some(token) => vec![("jwt", token.to_string()), signature],
            None => vec![("nkey", self.public()), signature],
        }
    }

    /// The public key, as the server knows it.
    fn public(&self) -> String {
        let mut bytes = vec![USER];
        bytes.extend_from_slice(self.key.public_key().as_ref());
        let checksum = crc16(&bytes).to_le_bytes();
        bytes.extend_from_slice(&checksum);
        base32(&bytes)
    }
}

/// The CRC-16 of XMODEM: the polynomial 0x1021, from 0 on.
fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = 0;
    for byte in bytes {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            let carry = crc & 0x8000 != 0;
            crc = (crc << 1) ^ if carry { 0x1021 } else { 0 };
        }
    }
    crc
}

/// The kinds of a key: the first five bits say that it is a seed, the next eight that it belongs to a user.
const SEED: u8 = 18 << 3;
const USER: u8 = 20 << 3;

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
            .field("public_key", &self.public())
            .finish_non_exhaustive()
    }
}

impl PartialEq for Signer {
    fn eq(&self, other: &Self) -> bool {
        self.token == other.token && self.public() == other.public()
    }
}

impl Eq for Signer {}

#[cfg(test)]
mod tests {
    use ring::signature::{ED25519, UnparsedPublicKey};

    use super::*;

    /// A seed of this kind with these 32 bytes.
    fn seed_of(kind: u8, key: &[u8]) -> String {
        let mut bytes = vec![SEED | kind >> 5, kind << 3];
        bytes.extend_from_slice(key);
        let checksum = crc16(&bytes).to_le_bytes();
        bytes.extend_from_slice(&checksum);
        base32(&bytes)
    }

    fn seed() -> String {
        seed_of(USER, &[7; 32])
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
        assert!(seed.starts_with("SU") && seed.len() == 58);
        assert!(public.starts_with('U') && public.len() == 56);
        let public = from_base32(public.as_bytes()).unwrap();
        UnparsedPublicKey::new(&ED25519, &public[1..33])
            .verify(b"nonce", &signature)
            .unwrap();
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
        let account = seed_of(0, &[7; 32]);
        assert_eq!(Signer::from_seed(&account), Err(SignerError::NoUser));
        let seed = seed();
        let public = Signer::from_seed(&seed).unwrap().public();
        let mistyped = seed.replacen('O', "P", 1);
        assert_ne!(mistyped, seed);
        for wrong in [
            "",
            "SU",
            &public,
            "SUAM",
            &mistyped,
            &seed_of(USER, &[7; 31]),
        ] {
            assert_eq!(Signer::from_seed(wrong), Err(SignerError::Seed), "{wrong}");
        }
    }
}
