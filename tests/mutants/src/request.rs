use std::path::{Path, PathBuf};

use crate::{
    Outcome, change,
    subject::{SUBJECTS, Subject, Work},
};

pub(crate) const USAGE: &str = "\
usage: tests/mutants/run [SUBJECT..] [OPTION OF cargo-mutants..]
       tests/mutants/run --folder DIR SUBJECT
       tests/mutants/run --folder DIR PACKAGE TEST..
";

/// What is to be tried.
pub(crate) struct Request {
    /// A clean copy of the sources.
    pub(crate) sources: PathBuf,
    pub(crate) folder: Option<PathBuf>,
    subjects: Vec<&'static Subject>,
    /// A package and parts of the names of its tests, if no subject names them.
    tests: Vec<String>,
    /// Options of cargo-mutants.
    options: Vec<String>,
}

impl Request {
    pub(crate) fn of(arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut arguments = arguments.peekable();
        let mut request = Self {
            sources: arguments.next()?.into(),
            folder: None,
            subjects: Vec::new(),
            tests: Vec::new(),
            options: Vec::new(),
        };
        if arguments.next_if(|word| word == "--folder").is_some() {
            request.folder = Some(arguments.next()?.into());
        }
        while let Some(word) = arguments.next_if(|word| !word.starts_with('-')) {
            match SUBJECTS.iter().find(|subject| subject.name == word) {
                Some(subject) => request.subjects.push(subject),
                None => request.tests.push(word),
            }
        }
        request.options = arguments.collect();
        request.is_complete().then_some(request)
    }

    fn is_complete(&self) -> bool {
        let (subjects, tests) = (self.subjects.len(), self.tests.len());
        match self.folder {
            Some(_) => (subjects == 1 && tests == 0) || (subjects == 0 && tests > 1),
            None => tests == 0,
        }
    }

    /// What is to be tried, package by package.
    pub(crate) fn works(&self) -> Outcome<Vec<Work>> {
        let mut works = Vec::new();
        if let Some(folder) = &self.folder {
            works.push(self.of_folder(folder)?);
            return Ok(works);
        }
        let all = SUBJECTS.iter();
        let is_asked = |subject: &Subject| {
            let mut asked = self.subjects.iter();
            self.subjects.is_empty() || asked.any(|asked| asked.name == subject.name)
        };
        for subject in all.filter(|subject| is_asked(subject)) {
            let changes = change::mutants(&self.sources, subject, &self.options)?;
            works.push(work(subject, changes));
        }
        Ok(works)
    }

    fn of_folder(&self, folder: &Path) -> Outcome<Work> {
        let changes = change::in_folder(&self.sources, folder)?;
        if let [subject] = self.subjects[..] {
            return Ok(work(subject, changes));
        }
        Ok(Work {
            name: folder.display().to_string(),
            package: self.tests[0].clone(),
            tests: self.tests[1..].to_vec(),
            changes,
        })
    }
}

fn work(subject: &Subject, changes: Vec<change::Change>) -> Work {
    let tests = subject.tests.iter();
    Work {
        name: subject.name.to_owned(),
        package: subject.package.to_owned(),
        tests: tests.map(|test| (*test).to_owned()).collect(),
        changes,
    }
}
