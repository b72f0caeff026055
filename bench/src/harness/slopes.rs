//! Chooses which measurements get a plot, and writes the plots.

use std::{fmt::Write, fs, path::Path};

use super::{
    part::Part,
    plot::{self, Line, Panel},
    table::{self, Row},
    trial::Trial,
};

/// A plot of the measures of a table over the object counts.
pub(super) struct Picture {
    /// The suffix of its file name, after the name of the report.
    pub(super) name: String,
    pub(super) title: String,
    pub(super) svg: String,
}

/// Returns a plot for each table that was measured with several object counts.
pub(super) fn pictures(parts: &[Part], measured: &[(Trial, Vec<Row>)]) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for part in parts {
        let mut titles: Vec<String> = Vec::new();
        let of_part = || {
            measured
                .iter()
                .filter(|(trial, _)| trial.workload == part.workload())
        };
        for (trial, _) in of_part() {
            let title = part.title(trial);
            if titles.contains(&title) {
                continue;
            }
            let several: Vec<_> = of_part()
                .filter(|(trial, _)| part.title(trial) == title)
                .collect();
            if several.len() > 1 {
                pictures.push(Picture {
                    name: name(*part, trial),
                    svg: plot::svg(&title, &panels(*part, &several)),
                    title: title.clone(),
                });
            }
            titles.push(title);
        }
    }
    pictures
}

/// Returns the suffix of a file name. Only kinds that the user has chosen are named.
fn name(part: Part, trial: &Trial) -> String {
    let mut name = part.name().to_owned();
    if let Some(kind) = trial
        .kind
        .filter(|kind| trial.workload.kind() != Some(*kind))
    {
        name = format!("{name}-{}", kind.shape());
    }
    if trial.percent > 0 {
        name = format!("{name}-{}", trial.percent);
    }
    name
}

fn panels(part: Part, trials: &[&(Trial, Vec<Row>)]) -> Vec<Panel> {
    let peers = trials.first().map_or(&[][..], |(_, rows)| rows);
    let panel = |measure: &table::Measure| Panel {
        title: measure.name.to_owned(),
        lines: peers
            .iter()
            .map(|peer| Line {
                peer: peer.peer.clone(),
                ours: peer.ours,
                points: trials
                    .iter()
                    .filter_map(|(trial, rows)| {
                        let row = rows.iter().find(|row| row.peer == peer.peer)?;
                        Some((trial.objects as f64, table::spread(measure, row)?.median))
                    })
                    .collect(),
            })
            .collect(),
    };
    part.measures().iter().map(panel).collect()
}

/// Writes the plots next to the report and returns Markdown that shows them.
pub(super) fn write(pictures: &[Picture], report: &Path) -> Result<String, String> {
    let mut text = String::new();
    if !pictures.is_empty() {
        text.push_str("## Over the numbers of objects\n\nThe plots show medians; Pilothouse has the thick lines.\n\n");
    }
    let stem = report.file_stem().unwrap_or_default().to_string_lossy();
    for picture in pictures {
        let name = format!("{stem}-{}.svg", picture.name);
        let file = report.with_file_name(&name);
        fs::write(&file, &picture.svg).map_err(|error| format!("{}: {error}", file.display()))?;
        let _ = writeln!(text, "![{}](<{name}>)\n", picture.title);
    }
    Ok(text)
}
