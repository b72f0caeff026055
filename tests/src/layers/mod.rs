//! Checks that the framework's modules use only earlier modules: among the layers, and among the submodules of a layer.
//!
//! [`violations`] parses sources and resolves every path that leads into the crate: `crate`, `super`, `self`,
//! the crate's own name, names imported, renamed or re-exported anywhere on the way, globs, groups, paths in
//! attributes and in macros' tokens. It reports each path that touches a later module of an [`Order`].
//!
//! | file | what it contains |
//! | --- | --- |
//! | `collector.rs` | collects the imports and the paths of one file |
//! | `tree.rs` | the modules with their imports, and how a path is followed through them |

mod collector;
mod tree;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::Path,
};

use collector::Collector;
use syn::visit::Visit;
use tree::Tree;

/// The framework's layers, lowest first.
pub const LAYERS: &[&str] = &[
    "backoff",
    "clock",
    // Tests of all layers use it.
    "logged",
    "metrics",
    "health",
    "resource",
    "client",
    "events",
    "crd",
    "cache",
    "queue",
    "election",
    "controller",
    "server",
    "webhook",
    "admission",
    "manifests",
    "operator",
    "testing",
];

/// An order among the direct submodules (files or folders) of one module.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The module, as `controller` or `client::transport`; the crate's root is the empty text.
    pub within: &'a str,
    /// Its submodules, lowest first. A file directly below the module counts as a submodule of its own. The module's own
    /// `mod.rs` may use all of them, to re-export them.
    pub submodules: &'a [&'a str],
}

impl Order<'_> {
    /// Whether test code may break the order. It may inside a layer, where a test needs the types that use the tested one.
    /// It may not between layers.
    fn exempts_tests(&self) -> bool {
        !self.within.is_empty()
    }

    /// The direct submodule of this order's module in which `path` lies.
    fn submodule_of<'p>(&self, path: &'p [String]) -> Option<&'p str> {
        let mut rest = path.iter();
        for segment in self.within.split("::").filter(|within| !within.is_empty()) {
            if rest.next()? != segment {
                return None;
            }
        }
        rest.next().map(String::as_str)
    }

    fn row(&self, submodule: &str) -> Option<usize> {
        self.submodules.iter().position(|known| *known == submodule)
    }

    fn text(&self, submodule: &str) -> String {
        match self.within {
            "" => submodule.to_owned(),
            within => format!("{within}::{submodule}"),
        }
    }
}

/// Every order that the framework keeps. A layer without a row of its own may use its submodules as it likes.
pub const ORDERS: &[Order<'_>] = &[
    Order {
        within: "",
        submodules: LAYERS,
    },
    Order {
        within: "controller",
        submodules: &[
            "reconcilable",
            "action",
            "error",
            "cause",
            "annotations",
            "caches",
            "predicate",
            "finalizer_rules",
            "owners",
            "applied_fields",
            "wired",
            "environment",
            "read_your_writes",
            "history",
            "state",
            "status",
            "sources",
            "context",
            "children",
            "finalizers",
            "builder",
            "worker",
        ],
    },
    Order {
        within: "client",
        submodules: &[
            "config",
            "error",
            "request",
            "response",
            "access",
            "codec",
            "decode",
            "params",
            "wake",
            "transport",
            "stack",
            "retry",
            "rest",
            "watch",
            "api",
            "discovery",
            "pods",
        ],
    },
    Order {
        within: "cache",
        submodules: &[
            "sync",
            "resource_version",
            "scope",
            "entry",
            "index",
            "store",
            "event",
            "fifo",
            "readiness",
            "status",
            "reflector",
            "listener",
            "source",
            "informer",
            "informers",
        ],
    },
    Order {
        within: "queue",
        submodules: &[
            "sync",
            "priority",
            "note",
            "queued_key",
            "rate_limiter",
            "slab_list",
            "groups",
            "ready_keys",
            "timing_wheel",
            "run",
            "core",
            "shared_core",
            "inner",
            "work",
            "work_batch",
            "work_queue",
            "builder",
        ],
    },
];

/// Modules beside the layers which only re-export: a name reached through them counts as what it is.
const FACADES: &[&str] = &["prelude", "__private"];

/// Name by which the crate may call itself.
const CRATE: &str = "pilothouse";

/// Something in a module that an order forbids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The file, relative to the source folder.
    pub file: String,
    /// The path as it is written there, or what else is wrong.
    pub what: String,
    /// The later module it leads to, as `controller` or `controller::worker`.
    pub target: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} leads to {}", self.file, self.what, self.target)
    }
}

/// Reads all `.rs` files below `folder`, by their path relative to it.
///
/// # Errors
/// A file or folder cannot be read.
pub fn read_sources(folder: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut sources = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(current) = open.pop() {
        for entry in fs::read_dir(&current)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(folder).unwrap_or(&path);
                sources.insert(name.display().to_string(), fs::read_to_string(&path)?);
            }
        }
    }
    Ok(sources)
}

/// Every use of a later module in `sources`, which map a path below `src/` to its text.
///
/// # Errors
/// A source does not parse.
pub fn violations(
    sources: &BTreeMap<String, String>,
    orders: &[Order<'_>],
) -> syn::Result<BTreeSet<Violation>> {
    let mut tree = Tree {
        ordered: orders.iter().map(|order| order.within.to_owned()).collect(),
        ..Tree::default()
    };
    let mut found = Vec::new();
    for (file, text) in sources {
        let module = module_of(file);
        let mut collector = Collector {
            file,
            module: module.clone(),
            is_test: false,
            tree: &mut tree,
            paths: Vec::new(),
        };
        collector.tree.declare(&module);
        collector.visit_file(&syn::parse_file(text)?);
        found.append(&mut collector.paths);
    }
    let mut violations = BTreeSet::new();
    for used in &found {
        let rows: Vec<(&Order<'_>, usize)> = orders
            .iter()
            .filter(|order| !(order.exempts_tests() && tree.is_test(used)))
            .filter_map(|order| Some((order, order.row(order.submodule_of(&used.module)?)?)))
            .collect();
        if rows.is_empty() {
            continue;
        }
        for touched in tree.modules_of(used) {
            for (order, row) in &rows {
                let Some(submodule) = order.submodule_of(&touched) else {
                    continue;
                };
                if order.row(submodule) > Some(*row) {
                    violations.insert(Violation {
                        file: used.file.clone(),
                        what: used.text(),
                        target: order.text(submodule),
                    });
                }
            }
        }
    }
    for order in orders {
        violations.extend(tree.misplaced(order));
    }
    Ok(violations)
}

type ModulePath = Vec<String>;

fn module_of(file: &str) -> ModulePath {
    let mut path: ModulePath = file
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    if path
        .last()
        .is_some_and(|last| last == "mod" || last == "lib")
    {
        path.pop();
    }
    path
}
