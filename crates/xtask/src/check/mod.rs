//! The house rules, one file each. A check gets the tree and returns findings; it reads no files itself.

pub(crate) mod adapters;
pub(crate) mod blocking;
pub(crate) mod error_codes;
pub(crate) mod generated;
pub(crate) mod layers;
pub(crate) mod leftovers;
pub(crate) mod length;
pub(crate) mod module_docs;
pub(crate) mod modules;
pub(crate) mod names;
pub(crate) mod option_names;
pub(crate) mod prose;
pub(crate) mod statics;
pub(crate) mod unsafe_code;

use crate::finding::Finding;
use crate::tree::Tree;

/// All checks that need only the tree.
pub(crate) fn all(tree: &Tree) -> Vec<Finding> {
    let checks: [fn(&Tree) -> Vec<Finding>; 13] = [
        adapters::check,
        blocking::check,
        error_codes::check,
        generated::check,
        leftovers::check,
        length::check,
        module_docs::check,
        modules::check,
        names::check,
        option_names::check,
        prose::check,
        statics::check,
        unsafe_code::check,
    ];
    checks.iter().flat_map(|check| check(tree)).collect()
}
