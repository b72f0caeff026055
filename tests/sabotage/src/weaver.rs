use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    Lines,
    functions::{Bodies, Function, Functions},
};

/// The variable that names the change which is on.
pub const SWITCH: &str = "PILOTHOUSE_SABOTAGE";

/// Files in which functions have, beside their own body, those that changes give them.
#[derive(Default)]
pub struct Weaver {
    sources: PathBuf,
    files: BTreeMap<String, Woven>,
}

struct Woven {
    text: String,
    functions: Functions,
    /// By the place among the functions: the name of the change, and the body.
    bodies: BTreeMap<usize, Vec<(String, String)>>,
}

impl Weaver {
    /// The sources are in this folder, and no change is in them.
    #[must_use]
    pub fn new(sources: &Path) -> Self {
        Self {
            sources: sources.to_owned(),
            files: BTreeMap::new(),
        }
    }

    /// Takes up a change, given by the texts that it makes of files, by their paths.
    ///
    /// # Errors
    /// It changes nothing, or more than what functions do.
    pub fn add(&mut self, name: &str, texts: &BTreeMap<String, String>) -> Result<(), String> {
        let mut found = Vec::new();
        for (file, text) in texts {
            for (place, body) in self.file(file)?.changed(file, text)? {
                found.push((file, place, body));
            }
        }
        if found.is_empty() {
            return Err("it changes nothing".to_owned());
        }
        for (file, place, body) in found {
            let bodies = &mut self.file(file)?.bodies;
            let bodies = bodies.entry(place).or_default();
            bodies.push((name.to_owned(), body));
        }
        Ok(())
    }

    /// Gives changes up again.
    pub fn leave_out(&mut self, names: &BTreeSet<String>) {
        for woven in self.files.values_mut() {
            woven.bodies.retain(|_, bodies| {
                bodies.retain(|(name, _)| !names.contains(name));
                !bodies.is_empty()
            });
        }
    }

    /// Writes the files that have changed. Answers which lines are whose.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self) -> io::Result<Lines> {
        let mut lines = Lines::default();
        for (file, woven) in &self.files {
            let path = self.sources.join(file);
            let text = woven.woven(file, &mut lines);
            // cargo builds again what has been touched.
            if fs::read_to_string(&path)? != text {
                fs::write(path, text)?;
            }
        }
        Ok(lines)
    }

    fn file(&mut self, file: &str) -> Result<&mut Woven, String> {
        // What a macro does is done when the switches are not read yet.
        if !file.ends_with(".rs") || file.starts_with("macros/") {
            return Err(format!("{file} has no functions that run with the tests"));
        }
        if !self.files.contains_key(file) {
            let text = fs::read_to_string(self.sources.join(file));
            let text = text.map_err(|error| error.to_string())?;
            let woven = Woven {
                functions: parsed(file, &text)?,
                text,
                bodies: BTreeMap::new(),
            };
            self.files.insert(file.to_owned(), woven);
        }
        let woven = self.files.get_mut(file);
        woven.ok_or_else(|| format!("{file} is not there"))
    }
}

impl Woven {
    /// The bodies that another text gives the functions of the file.
    fn changed(&self, file: &str, text: &str) -> Result<Vec<(usize, String)>, String> {
        let changed = parsed(file, text)?;
        // Without bodies they are the same, unless something else was changed.
        if self.functions.rest != changed.rest {
            return Err(format!("it changes {file} outside of functions"));
        }
        let mut found = Vec::new();
        let pairs = self.functions.all.iter().zip(changed.all);
        for (place, (before, after)) in pairs.enumerate() {
            if before.body == after.body {
                continue;
            }
            if let Bodies::One(reason) = before.bodies {
                return Err(format!("`{}` of {file} {reason}", before.name));
            }
            found.push((place, text[after.place].to_owned()));
        }
        Ok(found)
    }

    /// The text with all bodies.
    fn woven(&self, file: &str, lines: &mut Lines) -> String {
        let mut text = Text::default();
        let mut from = 0;
        for (place, bodies) in &self.bodies {
            let function = &self.functions.all[*place];
            text.push(&self.text[from..function.place.start]);
            from = function.place.end;
            let head_line = text.line;
            text.push(&head(bodies));
            for (number, (name, body)) in bodies.iter().enumerate() {
                let first = text.line;
                text.push(&arm(function, &(number + 1).to_string(), body));
                lines.add(file, first, text.line - 1, name);
            }
            let first = text.line;
            text.push(&arm(function, "_", &self.text[function.place.clone()]));
            // Errors in the signature and the own body are caused by all together: the type cannot be boxed.
            for (name, _) in bodies {
                lines.add(file, head_line, head_line, name);
                lines.add(file, first, text.line - 1, name);
            }
            text.push("} }");
        }
        text.push(&self.text[from..]);
        text.text
    }
}

/// A text that knows its last line.
struct Text {
    text: String,
    line: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            text: String::new(),
            line: 1,
        }
    }
}

impl Text {
    fn push(&mut self, more: &str) {
        self.text.push_str(more);
        self.line += more.matches('\n').count();
    }
}

/// The beginning of the body of all bodies: which of them counts.
fn head(bodies: &[(String, String)]) -> String {
    let mut numbers = String::new();
    for (number, (name, _)) in bodies.iter().enumerate() {
        let _ = write!(numbers, "Ok({name:?}) => {}, ", number + 1);
    }
    format!(
        "{{ static SWITCH: ::std::sync::LazyLock<usize> = ::std::sync::LazyLock::new(|| \
         match ::std::env::var({SWITCH:?}).as_deref() {{ {numbers} _ => 0 }}); match *SWITCH {{\n"
    )
}

/// One body, on lines of its own.
fn arm(function: &Function, number: &str, body: &str) -> String {
    match &function.bodies {
        Bodies::Boxed(boxed, new) => {
            format!("{number} => {{ let boxed: {boxed} = {new}({body}); boxed }}\n")
        }
        _ => format!("{number} => {body}\n"),
    }
}

fn parsed(file: &str, text: &str) -> Result<Functions, String> {
    Functions::of(text).map_err(|error| format!("{file} cannot be parsed: {error}"))
}
