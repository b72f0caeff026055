//! The exit codes: the table of the module `operator`, which is compared with the constants.

use std::collections::BTreeSet;

use syn::{Expr, Item, Lit};

use super::{compare, source};

/// The values of the constants of type `u8` in `error.rs`, without those that name another constant.
fn constants() -> BTreeSet<String> {
    let file = syn::parse_file(&source("framework/src/operator/error.rs")).unwrap();
    let values = file.items.iter().filter_map(|item| match item {
        Item::Const(item) => match &*item.expr {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => Some(number.base10_digits().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    values.collect()
}

#[test]
fn the_reference_has_each_exit_code() {
    let module = source("framework/src/operator/mod.rs");
    let (_, rest) = module.split_once("//! # Exit codes\n").unwrap();
    let lines = rest.lines().map_while(|line| line.strip_prefix("//! |"));
    let table: String = lines.map(|line| format!("|{line}\n")).collect();
    let rows = table.lines().skip(2);
    let codes: BTreeSet<&str> = rows.filter_map(|row| row.split(' ').nth(1)).collect();
    let constants = constants();
    assert!(constants.len() >= 3, "{constants:?}");
    let missing: Vec<_> = constants
        .iter()
        .filter(|code| !codes.contains(code.as_str()))
        .collect();
    assert!(missing.is_empty(), "the table lacks {missing:?}");
    compare("exit-codes.md", &[("codes", table)]);
}
