//! `#[derive(Resource)]`: `args` reads the attribute and the fields, `names` checks and guesses
//! names, `expand` writes the code.

mod args;
mod expand;
mod names;
mod view;

pub(crate) use expand::expand;
