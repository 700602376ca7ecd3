//! Close codes: RFC 6455 §7.4 and the IANA registry it opened.
//!
//! Never decides when to close: defines only the meaning of codes and who may use them.

/// The purpose was fulfilled (§7.4.1).
pub const NORMAL: u16 = 1000;
/// The server shuts down or the user left the page (§7.4.1).
pub const GOING_AWAY: u16 = 1001;
/// The peer broke the protocol (§7.4.1).
pub const PROTOCOL_ERROR: u16 = 1002;
/// The endpoint does not accept this kind of data (§7.4.1).
pub const UNSUPPORTED_DATA: u16 = 1003;
/// Never on the wire: the close frame had no code (§7.4.1).
pub const NO_STATUS: u16 = 1005;
/// Never on the wire: the connection ended without a close frame (§7.4.1).
pub const ABNORMAL: u16 = 1006;
/// Data that does not match its kind, such as text that is not UTF-8 (§7.4.1).
pub const INVALID_PAYLOAD: u16 = 1007;
/// A violation of a rule that has no code of its own (§7.4.1).
pub const POLICY_VIOLATION: u16 = 1008;
/// The message is too big to process (§7.4.1).
pub const MESSAGE_TOO_BIG: u16 = 1009;
/// A client requires an extension that the server did not negotiate (§7.4.1).
pub const MANDATORY_EXTENSION: u16 = 1010;
/// An unexpected error in the server (§7.4.1).
pub const INTERNAL_ERROR: u16 = 1011;
/// The service restarts: reconnect soon (IANA).
pub const SERVICE_RESTART: u16 = 1012;
/// The service is overloaded: reconnect later (IANA).
pub const TRY_AGAIN_LATER: u16 = 1013;
/// A gateway got an invalid response from its upstream server (IANA).
pub const BAD_GATEWAY: u16 = 1014;
/// Never on the wire: the TLS handshake failed (§7.4.1).
pub const TLS_HANDSHAKE: u16 = 1015;

/// Whether a peer may send this code: 1000–1003, 1007–1014 and 3000–4999. Codes that are reserved,
/// undefined or only for reporting within an endpoint (1004, 1005, 1006, 1015) are protocol errors.
pub const fn is_valid_on_wire(code: u16) -> bool {
    matches!(code, NORMAL..=UNSUPPORTED_DATA | INVALID_PAYLOAD..=BAD_GATEWAY | 3000..=4999)
}

/// Whether an application may close with this code. This is the same set as [`is_valid_on_wire`]: a
/// code that we refuse from a peer is never sent to one.
pub const fn is_sendable(code: u16) -> bool {
    is_valid_on_wire(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_valid_in_the_ranges_of_the_registry() {
        for code in 0..=u16::MAX {
            let valid = match code {
                1004 | 1005 | 1006 | 1015 => false,
                1000..=1014 | 3000..=4999 => true,
                _ => false,
            };
            assert_eq!(is_valid_on_wire(code), valid, "{code}");
            assert_eq!(is_sendable(code), valid, "{code}");
        }
    }
}
