//! What becomes of an error of `accept`: a lack of our own resources pauses accepting and is told, what a peer or the
//! network did is passed over at once, and nothing spins for ever. Owns no socket.

use std::io;
use std::time::Duration;

/// See the module. One for each listening socket.
#[derive(Debug, Default)]
pub(crate) struct AcceptErrors {
    /// Errors since the last connection.
    in_a_row: u32,
}

/// What to do after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    GoOn,
    Pause,
}

impl AcceptErrors {
    /// Accepts until there is a connection; tells of each error that makes it pause.
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

/// Whether it ends when something of ours is given back. All else concerns one connection, or the network that it came by.
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
    // WSAEMFILE and WSAENOBUFS
    error.kind() == io::ErrorKind::OutOfMemory
        || matches!(error.raw_os_error(), Some(10_024 | 10_055))
}

/// A whole backlog of peers that have left; more without a connection in between are an error that stays.
const MOST_IN_A_ROW: u32 = 4096;

/// Time in which descriptors or memory may come back.
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(all(test, unix))]
mod tests {
    use std::cell::Cell;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use rustix::io::Errno;

    use super::*;

    /// Whether a connection behind these errors is there at once, and how many of them were told.
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
    fn what_a_peer_or_the_network_did_does_not_pause_accepting() {
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
            // a backlog full of peers that left
            assert_eq!(accept_after([errno; 4096]), (true, 0), "{errno}");
        }
    }

    #[test]
    fn want_of_our_own_resources_pauses_and_is_told() {
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert_eq!(accept_after([errno]), (false, 1), "{errno}");
        }
    }

    #[test]
    fn an_error_that_stays_does_not_spin() {
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
        // it pauses each time from then on
        assert_eq!(errors.judge(&error), After::Pause);
    }
}
