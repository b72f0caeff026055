use std::collections::BTreeMap;
use std::ffi::OsString;
use std::str::FromStr;

use crate::Result;

/// The flags of a command line, in the forms of Go: `--name=value`, `--name value`, `--name`. The last one of a name counts.
#[derive(Debug, Default)]
pub(super) struct Flags(BTreeMap<String, String>);

impl Flags {
    pub(super) fn read(words: impl Iterator<Item = OsString>) -> Result<Self> {
        let mut flags = BTreeMap::new();
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let text = word
                .to_str()
                .ok_or_else(|| format!("{word:?} is not UTF-8"))?;
            let flag = text.strip_prefix("--").or_else(|| text.strip_prefix('-'));
            let flag = flag.filter(|flag| !flag.is_empty());
            let flag = flag
                .ok_or_else(|| format!("unexpected argument {text:?}: a flag begins with `--`"))?;
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => {
                    let next = words.next_if(|next| !next.to_string_lossy().starts_with('-'));
                    let value = next.map(|next| next.to_string_lossy().into_owned());
                    (flag.to_owned(), value.unwrap_or_else(|| "true".into()))
                }
            };
            flags.insert(name, value);
        }
        Ok(Self(flags))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The value of a flag; `default` if it is not set.
    pub(super) fn parsed<T: FromStr>(&self, name: &str, default: T) -> Result<T> {
        match self.get(name) {
            None => Ok(default),
            Some(value) => value
                .parse()
                .map_err(|_| format!("the flag --{name} has the invalid value {value:?}").into()),
        }
    }

    /// The flags that are not among `known`, as the user wrote them.
    pub(super) fn others(&self, known: &[&str]) -> Vec<String> {
        let others = self.0.keys().filter(|name| !known.contains(&name.as_str()));
        others.map(|name| format!("--{name}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_in_each_form_of_go() {
        let words = [
            "--a=1=2",
            "--b",
            "2",
            "-c",
            "--d=",
            "--secure-port",
            "x",
            "--a=3",
        ];
        let flags = Flags::read(words.into_iter().map(OsString::from)).unwrap();
        let all = ["a", "b", "c", "d", "e"].map(|name| flags.get(name));
        assert_eq!(all, [Some("3"), Some("2"), Some("true"), Some(""), None]);
        assert_eq!(flags.others(&["a", "b", "c"]), ["--d", "--secure-port"]);
        let error = flags.parsed::<u16>("secure-port", 6443).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the flag --secure-port has the invalid value \"x\""
        );
        assert_eq!(flags.parsed::<u16>("port", 6443).unwrap(), 6443);
        let error = Flags::read([OsString::from("run")].into_iter()).unwrap_err();
        assert!(error.to_string().contains("\"run\""), "{error}");
    }
}
