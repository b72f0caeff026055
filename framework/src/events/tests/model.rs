//! Random events and server responses: in the end the server has the counts and notes of a simple model.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

/// One step of a random run.
#[derive(Clone, Debug)]
enum Step {
    Record {
        object: u8,
        reason: u8,
        note: u8,
    },
    Send,
    /// The response to one of the running requests.
    Answer {
        which: usize,
        answer: Answer,
    },
    Pass(u16),
    /// A user deletes an Event.
    Delete(usize),
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    Done,
    /// The server applies the request, but the response is lost.
    DoneAndLost,
    Failed,
}

fn step() -> impl Strategy<Value = Step> {
    let answer = prop_oneof![
        4 => Just(Answer::Done),
        1 => Just(Answer::DoneAndLost),
        1 => Just(Answer::Failed),
    ];
    prop_oneof![
        6 => (0..4_u8, 0..3_u8, 0..4_u8)
            .prop_map(|(object, reason, note)| Step::Record { object, reason, note }),
        4 => Just(Step::Send),
        4 => (any::<usize>(), answer).prop_map(|(which, answer)| Step::Answer { which, answer }),
        2 => (0..900_u16).prop_map(Step::Pass),
        1 => any::<usize>().prop_map(Step::Delete),
    ]
}

/// The Events on the server: name to count and note.
#[derive(Default)]
struct Server(HashMap<String, (i32, String)>);

impl Server {
    fn take(&mut self, write: &Write) -> Outcome {
        let content = (write.content.count, write.content.note.to_string());
        match (write.verb, self.0.get_mut(&write.name)) {
            (Verb::Create, Some(_)) => return Outcome::Exists,
            (Verb::Create, None) => drop(self.0.insert(write.name.clone(), content)),
            (Verb::Patch { .. }, None) => return Outcome::Lost,
            (Verb::Patch { note }, Some(event)) => {
                event.0 = content.0;
                if note {
                    event.1 = content.1;
                }
            }
        }
        Outcome::Done
    }
}

/// One random run: what was recorded of each series, with its count and newest note.
type Expected = HashMap<u64, (i32, String)>;

struct Story {
    world: World,
    server: Server,
    under_way: Vec<Write>,
    expected: Expected,
    /// The series that a key belongs to now.
    open: HashMap<(u8, u8), u64>,
    begun: u64,
}

impl Story {
    fn step(&mut self, step: Step) {
        match step {
            Step::Record {
                object,
                reason,
                note,
            } => self.record(object, reason, note),
            Step::Send => {
                if let Some(write) = self.world.next() {
                    let same = |one: &Write| one.id == write.id;
                    assert!(!self.under_way.iter().any(same), "two of one series");
                    self.under_way.push(write);
                }
            }
            Step::Answer { which, answer } if !self.under_way.is_empty() => {
                let write = self.under_way.remove(which % self.under_way.len());
                let outcome = match answer {
                    Answer::Done => self.server.take(&write),
                    Answer::DoneAndLost => {
                        self.server.take(&write);
                        Outcome::Later(Duration::ZERO)
                    }
                    Answer::Failed => Outcome::Later(Duration::ZERO),
                };
                if self.world.ended(&write, outcome).is_some() {
                    self.expected.remove(&write.id);
                    self.server.0.remove(&write.name);
                }
            }
            Step::Answer { .. } => {}
            Step::Pass(time) => self.world.pass(seconds(time.into())),
            Step::Delete(which) => {
                let mut names: Vec<_> = self.server.0.keys().cloned().collect();
                names.sort();
                if !names.is_empty() {
                    self.server.0.remove(&names[which % names.len()]);
                }
            }
        }
    }

    fn record(&mut self, object: u8, reason: u8, note: u8) {
        let text = note.to_string();
        let key = key(&object.to_string(), &reason.to_string());
        match self.world.record(key, &text) {
            Recorded::Started => {
                self.open.insert((object, reason), self.begun);
                self.expected.insert(self.begun, (1, text));
                self.begun += 1;
            }
            Recorded::Repeated => {
                let id = self.open[&(object, reason)];
                let one = self.expected.get_mut(&id).unwrap();
                *one = (one.0 + 1, text);
            }
            Recorded::Dropped(why) => assert_eq!(why, DropReason::Spam),
        }
    }

    /// All running requests get their response, and all unsent writes are sent.
    fn finish(mut self) {
        self.world.correlator.close();
        let mut last = HashMap::new();
        loop {
            while let Some(write) = self.world.next() {
                self.under_way.push(write);
            }
            let Some(write) = self.under_way.pop() else {
                if self.world.correlator.unsent() == 0 {
                    break;
                }
                let due = self.world.correlator.due().unwrap();
                assert!(due <= self.world.now + seconds(1), "the end waits");
                self.world.now = due;
                continue;
            };
            let outcome = self.server.take(&write);
            assert_eq!(self.world.ended(&write, outcome), None);
            if outcome == Outcome::Done {
                last.insert(write.id, write.name);
            }
            self.world.pass(seconds(1));
        }
        for (id, name) in last {
            // The Event of a series that was written completely before may have been deleted since.
            assert_eq!(self.server.0.get(&name), self.expected.get(&id), "{name}");
        }
        self.world.pass(minutes(24 * 60));
        self.world.next();
        let [series, by_key, writes, quiet, _] = self.world.correlator.sizes();
        assert_eq!([series, by_key, writes, quiet], [0; 4]);
    }
}

proptest! {
    #[test]
    fn in_the_end_the_server_knows_every_count_and_the_newest_note(steps in prop::collection::vec(step(), 0..200)) {
        let mut story = Story {
            world: World::new(),
            server: Server::default(),
            under_way: Vec::new(),
            expected: Expected::new(),
            open: HashMap::new(),
            begun: 0,
        };
        steps.into_iter().for_each(|step| story.step(step));
        story.finish();
    }
}
