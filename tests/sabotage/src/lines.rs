use std::{collections::BTreeSet, fs, io, path::Path};

/// Which lines of the woven sources are whose.
#[derive(Debug, Default)]
pub struct Lines {
    bodies: Vec<Lined>,
}

#[derive(Debug)]
struct Lined {
    file: String,
    first: usize,
    last: usize,
    name: String,
}

/// The file in the folder of the sources that keeps them.
const FILE: &str = "woven.tsv";

impl Lines {
    pub(crate) fn add(&mut self, file: &str, first: usize, last: usize, name: &str) {
        self.bodies.push(Lined {
            file: file.to_owned(),
            first,
            last,
            name: name.to_owned(),
        });
    }

    /// Writes them beside the sources.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, sources: &Path) -> io::Result<()> {
        let line = |body: &Lined| {
            let Lined { first, last, .. } = body;
            format!("{}\t{first}\t{last}\t{}\n", body.file, body.name)
        };
        let text: String = self.bodies.iter().map(line).collect();
        fs::write(sources.join(FILE), text)
    }

    /// Reads what was written beside the sources.
    ///
    /// # Errors
    /// There is no such file, or it has other lines.
    pub fn read(sources: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(sources.join(FILE))?;
        let lined = |line: &str| {
            let mut cells = line.split('\t');
            Some(Lined {
                file: cells.next()?.to_owned(),
                first: cells.next()?.parse().ok()?,
                last: cells.next()?.parse().ok()?,
                name: cells.next()?.to_owned(),
            })
        };
        let bodies: Option<_> = text.lines().map(lined).collect();
        let bodies = bodies.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { bodies })
    }

    /// The sabotages that change this line. A line of a function's own body belongs to all who change the function.
    pub(crate) fn names_at(&self, file: &str, line: usize) -> BTreeSet<String> {
        let holds = |body: &&Lined| body.file == file && (body.first..=body.last).contains(&line);
        let found = self.bodies.iter().filter(holds);
        found.map(|body| body.name.clone()).collect()
    }

    /// Those who have lines in the file.
    pub(crate) fn names(&self, file: &str) -> BTreeSet<String> {
        let there = self.bodies.iter().filter(|body| body.file == file);
        there.map(|body| body.name.clone()).collect()
    }
}
