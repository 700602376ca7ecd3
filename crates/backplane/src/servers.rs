//! The servers that are tried in turn. Owns their order, and the bound on those that servers report.

use std::collections::VecDeque;

use crate::config::Server;

/// See the module.
#[derive(Debug)]
pub(crate) struct Servers {
    configured: Vec<Server>,
    /// The other servers of the cluster, as the last server has reported them.
    reported: Vec<Server>,
    /// Those that are still to be tried in this round.
    round: VecDeque<Server>,
}

impl Servers {
    pub(crate) fn new(configured: Vec<Server>) -> Self {
        Self {
            configured,
            reported: Vec::new(),
            round: VecDeque::new(),
        }
    }

    /// The server to try next; `None` if none is configured.
    pub(crate) fn next(&mut self) -> Option<Server> {
        if self.round.is_empty() {
            self.round.extend(self.configured.iter().cloned());
            self.round.extend(self.reported.iter().cloned());
        }
        self.round.pop_front()
    }

    /// Replaces what was reported before. What is not in the list any more is not tried any more.
    pub(crate) fn report(&mut self, servers: Vec<Server>) {
        let mut reported: Vec<Server> = Vec::new();
        for server in servers {
            if reported.len() == MOST_REPORTED {
                break;
            }
            if !self.configured.contains(&server) && !reported.contains(&server) {
                reported.push(server);
            }
        }
        let is_known =
            |server: &Server| self.configured.contains(server) || reported.contains(server);
        self.round.retain(is_known);
        let is_new = |server: &&Server| !self.reported.contains(server);
        self.round.extend(reported.iter().filter(is_new).cloned());
        self.reported = reported;
    }
}

/// The most servers beside the configured ones.
const MOST_REPORTED: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn server(port: u16) -> Server {
        Server {
            host: "h".to_owned(),
            port,
        }
    }

    fn next(servers: &mut Servers, count: usize) -> Vec<u16> {
        (0..count).map(|_| servers.next().unwrap().port).collect()
    }

    #[test]
    fn servers_are_tried_in_turn_with_those_that_were_reported() {
        let mut servers = Servers::new(vec![server(1), server(2)]);
        assert_eq!(next(&mut servers, 3), [1, 2, 1]);
        servers.report([2, 3, 4, 3].map(server).to_vec());
        assert_eq!(next(&mut servers, 7), [2, 3, 4, 1, 2, 3, 4]);
        assert_eq!(next(&mut servers, 2), [1, 2]);
        servers.report(vec![server(4)]);
        assert_eq!(next(&mut servers, 4), [4, 1, 2, 4]);
        servers.report(vec![]);
        assert_eq!(next(&mut servers, 3), [1, 2, 1]);
        assert!(Servers::new(vec![]).next().is_none());
    }

    #[test]
    fn a_server_cannot_report_without_bound() {
        let mut servers = Servers::new(vec![server(1)]);
        servers.next();
        servers.report((1..=1000).map(server).collect());
        assert_eq!(servers.round.len(), MOST_REPORTED);
        assert_eq!(servers.reported.len(), MOST_REPORTED);
    }
}
