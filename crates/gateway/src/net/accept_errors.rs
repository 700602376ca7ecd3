//! Handles errors of `accept`. A lack of resources on this side pauses accepting and is reported; errors caused by a
//! peer or the network are skipped at once, with a limit, so that no error loops forever. Owns no socket.

use std::io;
use std::time::Duration;

/// See the module. One for each listening socket.
#[derive(Debug, Default)]
pub(crate) struct AcceptErrors {
    /// Consecutive errors since the last connection.
    in_a_row: u32,
}

/// What follows an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    GoOn,
    Pause,
}

impl AcceptErrors {
    /// Accepts until there is a connection; reports each error that makes it pause.
    pub(crate) async fn until_accepted<T, F: Future<Output = io::Result<T>>>(
        &mut self,
        accept: impl Fn() -> F,
        tell: impl Fn(&io::Error),
    ) -> T {
        loop {
            match accept().await {
                Ok(accepted) => {
                    self.in_a_row = 0;
                    return accepted;
                }
                Err(error) => {
                    if self.judge(&error) == After::Pause {
                        tell(&error);
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        }
    }

    fn judge(&mut self, error: &io::Error) -> After {
        self.in_a_row = self.in_a_row.saturating_add(1);
        if is_our_own(error) || self.in_a_row > MOST_IN_A_ROW {
            After::Pause
        } else {
            After::GoOn
        }
    }
}

/// Whether the error ends when this process or system frees a resource. All other errors concern one connection, or its
/// network.
#[cfg(unix)]
fn is_our_own(error: &io::Error) -> bool {
    use rustix::io::Errno;

    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
    )
}

#[cfg(not(unix))]
fn is_our_own(error: &io::Error) -> bool {
    // the codes of WSAEMFILE and WSAENOBUFS
    error.kind() == io::ErrorKind::OutOfMemory
        || matches!(error.raw_os_error(), Some(10_024 | 10_055))
}

/// A backlog full of peers that have left; more consecutive errors are a lasting failure.
const MOST_IN_A_ROW: u32 = 4096;

/// The time to wait for descriptors or memory.
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(all(test, unix))]
mod tests {
    use std::cell::Cell;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use rustix::io::Errno;

    use super::*;

    /// Whether a connection after these errors is accepted without a pause, and how many of them were reported.
    fn accept_after(errors: impl IntoIterator<Item = Errno>) -> (bool, u32) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime starts");
        let _entered = runtime.enter();
        let (told, next) = (Cell::new(0), std::cell::RefCell::new(errors.into_iter()));
        let accept = || {
            let outcome = next
                .borrow_mut()
                .next()
                .map_or(Ok(()), |errno| Err(errno.into()));
            std::future::ready(outcome)
        };
        let mut errors = AcceptErrors::default();
        let accepted = pin!(errors.until_accepted(accept, |_| told.set(told.get() + 1)));
        let polled = accepted.poll(&mut Context::from_waker(Waker::noop()));
        (polled == Poll::Ready(()), told.get())
    }

    #[test]
    fn errors_of_a_peer_or_the_network_do_not_pause_accepting() {
        for errno in [
            Errno::CONNABORTED,
            Errno::CONNRESET,
            Errno::INTR,
            Errno::PERM,
            Errno::PROTO,
            Errno::NOPROTOOPT,
            Errno::OPNOTSUPP,
            Errno::NETDOWN,
            Errno::NETUNREACH,
            Errno::HOSTDOWN,
            Errno::HOSTUNREACH,
            Errno::TIMEDOUT,
        ] {
            assert_eq!(accept_after([errno]), (true, 0), "{errno}");
            // a backlog full of peers that have left
            assert_eq!(accept_after([errno; 4096]), (true, 0), "{errno}");
        }
    }

    #[test]
    fn a_lack_of_local_resources_pauses_accepting_and_is_reported() {
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert_eq!(accept_after([errno]), (false, 1), "{errno}");
        }
    }

    #[test]
    fn a_lasting_error_does_not_loop_without_a_pause() {
        for errno in [Errno::BADF, Errno::INVAL, Errno::CONNABORTED] {
            assert_eq!(
                accept_after(std::iter::repeat(errno)),
                (false, 1),
                "{errno}"
            );
        }
        let mut errors = AcceptErrors::default();
        let error = io::Error::from(Errno::BADF);
        let went_on = std::iter::repeat_with(|| errors.judge(&error))
            .take_while(|&after| after == After::GoOn)
            .count();
        assert_eq!(went_on, 4096);
        // every further error pauses
        assert_eq!(errors.judge(&error), After::Pause);
    }
}
