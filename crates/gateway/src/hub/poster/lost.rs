//! What could not be posted as it was given. Owns these counts; posts nothing.

/// What could not be posted as it was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Text payloads that are not JSON objects and so cannot carry a virtual socket's user data.
    pub(crate) unannotated: u32,
    /// Texts to closed sockets, after their sender was told that they were posted.
    pub(crate) gone: u32,
    /// Whether deliveries were refused because an inbox was full.
    pub(crate) refused: bool,
}

impl Lost {
    /// Only records whether deliveries were refused.
    pub(in crate::hub) fn refused(refused: bool) -> Self {
        Self {
            refused,
            ..Self::default()
        }
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.unannotated += more.unannotated;
        self.gone += more.gone;
        self.refused |= more.refused;
    }
}
