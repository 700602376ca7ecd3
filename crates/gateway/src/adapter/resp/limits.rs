//! The limits of RESP.

use std::time::Duration;

use crate::limits::{BYTES, limits};

limits! {
    /// Limits of a RESP listener.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct RespLimits {
        /// Bytes of all keys and values of the gateway, each pair charged its length + 128, above which the listener's clients may not write (RESP).
        keys_bytes: u64 = 256 * 1024 * 1024, 1..=BYTES, "the command is refused with `OOM`";
    }
}

limits! {
    /// Limits of RESP that no option changes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct FixedRespLimits {
        /// Arguments of one command, including its name (RESP).
        arguments: usize = 1_048_576, "an error, and the connection is closed";
        /// Bytes of a reply that is a list (RESP); a reply over 64 KiB also has to fit into `outboxes_total_bytes`.
        reply_bytes: usize = 64 * 1024 * 1024, "the command is refused with an error and changes nothing";
        /// Bytes of the name that a client sets for itself, of its library's name, and of the library's version (RESP).
        client_name_bytes: usize = 1024, "the command is refused with an error";
        /// Time by which the answer to a wrong password is delayed, and with it the answers to further passwords of that address (RESP).
        wrong_password_delay: Duration = Duration::from_millis(500), "the answer waits that long";
        /// Passwords of one address whose answers are delayed at the same time.
        passwords_waiting: u32 = 20, "the connection is closed with an error";
        /// Addresses that are remembered because they sent a wrong password recently.
        addresses_remembered: usize = 10_000, "further addresses count as one";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_arguments_is_that_of_the_decoder() {
        let arguments = i64::try_from(FixedRespLimits::default().arguments);
        assert_eq!(arguments, Ok(millrace_protocol::resp::MOST_ARGUMENTS));
    }
}
