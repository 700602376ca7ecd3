//! Data of the process table about a server: CPU time, memory, descriptors and context switches of
//! a process and all its descendants. It reads `/proc` and changes nothing.

use std::fs;
use std::time::Duration;

use crate::failure::{Doing, Failure};
use crate::sys;

/// A process and its descendants, as found when it was last [`Tree::refresh`]ed.
#[derive(Debug, Clone)]
pub struct Tree {
    root: u32,
    members: Vec<u32>,
    ticks: u64,
    page: u64,
}

/// The resources that a process tree has used so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// User and system time, all threads, from the scheduler's clock (nanoseconds).
    pub cpu: Duration,
    /// User time, from the process table (hundredths of a second).
    pub user: Duration,
    /// System time, from the process table.
    pub system: Duration,
    /// Context switches, voluntary and not, of the threads alive.
    pub switches: u64,
}

impl Usage {
    /// The resources used since an earlier moment.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            switches: self.switches.saturating_sub(earlier.switches),
        }
    }
}

impl Tree {
    /// The tree below a process that must exist.
    pub fn of(pid: u32) -> Result<Self, Failure> {
        let (ticks, page) = sys::units();
        let mut tree = Self {
            root: pid,
            members: Vec::new(),
            ticks,
            page,
        };
        sys::process_cpu(pid).doing("reading the server's CPU clock")?;
        tree.refresh();
        Ok(tree)
    }

    /// Searches for descendants again.
    pub fn refresh(&mut self) {
        self.members = vec![self.root];
        let mut next = 0;
        while let Some(&pid) = self.members.get(next) {
            next += 1;
            for task in entries(&format!("/proc/{pid}/task")) {
                let path = format!("/proc/{pid}/task/{task}/children");
                let children = fs::read_to_string(path).unwrap_or_default();
                let children = children
                    .split_whitespace()
                    .filter_map(|pid| pid.parse::<u32>().ok());
                self.members.extend(children);
            }
        }
    }

    /// The resources that the tree has used so far. Ended children count through their parent.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for &pid in &self.members {
            sum.cpu += sys::process_cpu(pid).unwrap_or_default();
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let [user, system, child_user, child_system] = self.times(&stat);
            sum.user += user + child_user;
            sum.system += system + child_system;
            sum.cpu += child_user + child_system;
            for task in entries(&format!("/proc/{pid}/task")) {
                let path = format!("/proc/{pid}/task/{task}/status");
                sum.switches += switches(&fs::read_to_string(path).unwrap_or_default());
            }
        }
        sum
    }

    /// Resident bytes, cheap and exact to about 100 KB: for observing growth.
    pub fn resident(&self) -> u64 {
        let pages = |pid: &u32| -> Option<u64> {
            let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
            statm.split_whitespace().nth(1)?.parse().ok()
        };
        self.members.iter().filter_map(pages).sum::<u64>() * self.page
    }

    /// Resident bytes, exact. This walks the page tables, so it must not be used during a
    /// measurement.
    pub fn resident_exactly(&self) -> u64 {
        let exact = |pid: &u32| -> Option<u64> {
            let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
            let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let sum: Option<u64> = self.members.iter().map(exact).sum();
        sum.map_or_else(|| self.resident(), |kib| kib * 1024)
    }

    /// Open descriptors.
    pub fn descriptors(&self) -> usize {
        let count = |pid: &u32| entries(&format!("/proc/{pid}/fd")).count();
        self.members.iter().map(count).sum()
    }

    /// utime, stime, cutime and cstime of a `/proc/<pid>/stat` line.
    fn times(&self, stat: &str) -> [Duration; 4] {
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = after_name.split_whitespace().skip(11);
        [(); 4].map(|()| {
            let ticks: u64 = fields.next().and_then(|f| f.parse().ok()).unwrap_or(0);
            Duration::from_nanos(ticks.saturating_mul(1_000_000_000) / self.ticks.max(1))
        })
    }
}

fn entries(folder: &str) -> impl Iterator<Item = String> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    found.filter_map(|entry| entry.file_name().into_string().ok())
}

fn switches(status: &str) -> u64 {
    let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
    let counts = lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_is_readable() {
        let tree = Tree::of(std::process::id()).unwrap();
        let before = tree.usage();
        let mut sum = 0u64;
        while tree.usage().since(before).cpu < Duration::from_millis(5) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(tree.resident() > 100_000);
        assert!(tree.resident_exactly() > 100_000);
        assert!(tree.descriptors() > 2);
    }

    #[test]
    fn what_a_child_uses_counts_while_it_runs_and_after_it_ended() {
        let script = "sh -c 'while :; do :; done' & read stop; kill $!; wait; read stop";
        let mut shell = std::process::Command::new("sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut tree = Tree::of(shell.id()).unwrap();
        while tree.members.len() < 2 {
            tree.refresh();
        }
        let before = tree.usage();
        while tree.usage().since(before).cpu < Duration::from_millis(50) {
            std::thread::yield_now();
        }
        let running = tree.usage();
        let mut stop = shell.stdin.take().unwrap();
        std::io::Write::write_all(&mut stop, b"stop\n").unwrap();
        while tree.members.len() > 1 {
            tree.refresh();
        }
        // the process table counts an ended child in hundredths of a second
        let tick = Duration::from_millis(20);
        assert!(tree.usage().cpu + tick >= running.cpu);
        drop(stop);
        shell.wait().unwrap();
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let tree = Tree::of(std::process::id()).unwrap();
        let line = "7 (a) b) S 1 1 1 0 -1 0 0 0 0 0 100 50 10 5 20 0";
        let times = tree.times(line).map(|t| t.as_millis());
        let unit = u128::from(1000 / tree.ticks);
        assert_eq!(times, [100 * unit, 50 * unit, 10 * unit, 5 * unit]);
    }
}
