//! The size of the window that matches may reach back, as RFC 7692 negotiates it.

/// The base-2 logarithm of a window's size in bytes, from 8 to 15. Default 15.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowBits(u8);

impl WindowBits {
    /// 256 bytes.
    pub const LEAST: Self = Self(8);
    /// 32 KiB.
    pub const MOST: Self = Self(15);

    /// `None`: RFC 7692 does not allow this number (§7.1.2.1).
    #[inline]
    pub const fn new(bits: u8) -> Option<Self> {
        match bits {
            8..=15 => Some(Self(bits)),
            _ => None,
        }
    }

    /// The number of bits.
    #[inline]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The size of the window in bytes.
    #[inline]
    pub const fn bytes(self) -> usize {
        1 << self.0
    }
}

impl Default for WindowBits {
    fn default() -> Self {
        Self::MOST
    }
}
