//! Checks of the repository itself: its map, its interface, the order of its layers, and the lists of tests.

mod architecture;
mod book;
mod interface;
mod layers;
mod parity;
mod snippets;
