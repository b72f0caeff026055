use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use crate::package::Package;

/// Files that Cargo reads beside the sources, wherever they are.
const OF_CARGO: [&str; 5] = [
    "Cargo.toml",
    "Cargo.lock",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
];

/// The files from which Cargo has built a program.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Inputs {
    /// What Cargo and the compiler have read, also as folders.
    pub(super) read: BTreeSet<PathBuf>,
    /// Folders with packages of which everything may be read.
    whole: Vec<PathBuf>,
}

impl Inputs {
    /// The files that Cargo names beside the program. `None` if it does not name them.
    pub(super) fn of(program: &Path, package: &Package) -> Option<Self> {
        let text = fs::read_to_string(program.with_extension("d")).ok()?;
        let (_, list) = text.lines().next()?.split_once(": ")?;
        let read: BTreeSet<PathBuf> = names(list).into_iter().map(PathBuf::from).collect();
        // Cargo can be told to write them without the folder that they are in.
        let is_known = !read.is_empty() && read.iter().all(|path| path.is_absolute());
        is_known.then(|| Self {
            // What a build script has written is no source.
            read: read
                .into_iter()
                .filter(|path| !path.starts_with(&package.target))
                .chain(settings(&package.folder))
                .collect(),
            whole: package.whole.clone(),
        })
    }

    /// Whether a change of this file may change the program.
    pub(super) fn has(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| OF_CARGO.contains(&name))
            || path.ancestors().any(|above| self.read.contains(above))
            || self.whole.iter().any(|folder| path.starts_with(folder))
    }
}

/// The settings of Cargo and rustup for a package in this folder, whether they exist or not. Cargo looks for its own from the folder in which it runs.
pub(super) fn settings(folder: &Path) -> Vec<PathBuf> {
    let here = env::current_dir().unwrap_or_default();
    let names = [
        ".cargo/config.toml",
        ".cargo/config",
        "rust-toolchain.toml",
        "rust-toolchain",
        "Cargo.toml",
    ];
    let above = folder.ancestors().chain(here.ancestors());
    let mut files: Vec<PathBuf> = above
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .collect();
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    files.extend(home.map(|home| home.join("config.toml")));
    files
}

/// The names in a list of a makefile, in which a space in a name has a backslash before it.
fn names(list: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = list.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&' ') => {
                letters.next();
                if let Some(name) = names.last_mut() {
                    name.push(' ');
                }
            }
            ' ' => names.push(String::new()),
            letter => {
                if let Some(name) = names.last_mut() {
                    name.push(letter);
                }
            }
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_built_from_what_cargo_names_and_from_its_settings() {
        assert_eq!(
            names(r"/a/src/main.rs /my\ folder/x.yaml"),
            ["/a/src/main.rs", "/my folder/x.yaml"]
        );
        let inputs = Inputs {
            read: ["/a/src/main.rs", "/a/texts"]
                .map(PathBuf::from)
                .into_iter()
                .chain(settings(Path::new("/a/operator")))
                .collect(),
            whole: vec!["/other".into()],
        };
        for (path, expected) in [
            ("/a/src/main.rs", true),
            ("/a/texts/deep/x.yaml", true),
            ("/a/src/unused.rs", false),
            ("/a/crd.yaml", false),
            ("/a/deploy/roles.yaml", false),
            ("/a/Cargo.lock", true),
            ("/a/build.rs", true),
            ("/a/.cargo/config.toml", true),
            ("/other/x.sql", true),
        ] {
            assert_eq!(inputs.has(Path::new(path)), expected, "{path}");
        }
    }
}
