//! A finding of a check: where it is, how severe, and what to do. Owns no rule.

use std::fmt;

/// A warning is printed, an error fails the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Error,
    Warning,
}

/// One violation of a rule. Findings are sorted by place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    /// The line, from 1; 0 means the whole file.
    pub(crate) line: usize,
    pub(crate) severity: Severity,
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn error(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            severity: Severity::Error,
            message: message.into(),
        }
    }

    pub(crate) fn warning(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(path, line, message)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        match self.line {
            0 => write!(f, "{}: {kind}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {kind}: {}", self.path, self.message),
        }
    }
}
