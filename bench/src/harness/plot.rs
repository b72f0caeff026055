//! Plots measures over object counts.
//!
//! Both axes are linear and the vertical one starts at zero. A constant cost per object is a horizontal line in a "per
//! object" plot, and a straight line through zero in a plot of the total.

use std::fmt::Write;

/// One measure of all peers.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    /// The name of the measure.
    pub(super) title: String,
    /// A line for each peer, in the order of the first panel.
    pub(super) lines: Vec<Line>,
}

/// One measure of one peer.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) peer: String,
    /// Whether the line is drawn thicker, because the peer is Pilothouse.
    pub(super) ours: bool,
    /// Object counts and medians, ordered by object count.
    pub(super) points: Vec<(f64, f64)>,
}

/// Colours that colour-blind readers can distinguish (Okabe and Ito). The marks also have different shapes.
const COLOURS: [&str; 8] = [
    "#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#cc79a7", "#009e73", "#6b6b00", "#000000",
];

const PANEL: (f64, f64) = (430.0, 270.0);
const MARGIN: f64 = 20.0;
const LINE: f64 = 20.0;
/// The margins of the axes in a panel: left, top, right and bottom.
const AXES: (f64, f64, f64, f64) = (64.0, 34.0, 20.0, 44.0);

/// Draws all panels, two in a row, below the legend.
pub(super) fn svg(title: &str, panels: &[Panel]) -> String {
    let peers: Vec<_> = panels
        .first()
        .map_or(&[][..], |panel| &panel.lines)
        .iter()
        .collect();
    let legend = 2.0 * MARGIN + LINE + peers.len().div_ceil(3) as f64 * LINE;
    let width = 2.0 * PANEL.0 + 2.0 * MARGIN;
    let height = legend + panels.len().div_ceil(2) as f64 * PANEL.1 + MARGIN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n<title>{0}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"{MARGIN}\" y=\"{1}\" font-size=\"17\" font-weight=\"bold\">{0}</text>\n",
        escaped(title),
        MARGIN + 12.0,
    );
    for (index, line) in peers.iter().enumerate() {
        let x = MARGIN + (index % 3) as f64 * (width - 2.0 * MARGIN) / 3.0;
        let y = 2.0 * MARGIN + LINE + (index / 3) as f64 * LINE;
        let (colour, thick) = (colour(index), thickness(line));
        let _ = writeln!(
            text,
            "<path d=\"M{x} {y} h30\" stroke=\"{colour}\" stroke-width=\"{thick}\"/>{}<text x=\"{}\" y=\"{}\">{}</text>",
            mark(index, x + 15.0, y),
            x + 38.0,
            y + 4.5,
            escaped(&line.peer)
        );
    }
    for (index, panel) in panels.iter().enumerate() {
        let x = MARGIN + (index % 2) as f64 * PANEL.0;
        let y = legend + (index / 2) as f64 * PANEL.1;
        let _ = writeln!(text, "<g transform=\"translate({x} {y})\">");
        draw(panel, &mut text);
        text.push_str("</g>\n");
    }
    text.push_str("</svg>\n");
    text
}

fn draw(panel: &Panel, text: &mut String) {
    let (left, top) = (AXES.0, AXES.1);
    let (right, bottom) = (PANEL.0 - AXES.2, PANEL.1 - AXES.3);
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    let most = points().map(|point| point.1).fold(0.0, f64::max);
    let widest = points().map(|point| point.0).fold(0.0, f64::max).max(1.0);
    let step = step(most);
    let highest = ((most / step).ceil() * step).max(step);
    let across = |value: f64| left + value / widest * (right - left);
    let up = |value: f64| bottom - value / highest * (bottom - top);

    let _ = writeln!(
        text,
        "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{}</text>",
        top - 14.0,
        escaped(&panel.title)
    );
    for tick in 0..=(highest / step).round() as u32 {
        let value = f64::from(tick) * step;
        let y = up(value);
        let _ = writeln!(
            text,
            "<path d=\"M{left} {y:.1} H{right}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            y + 4.5,
            short(value)
        );
    }
    let mut counts: Vec<_> = points().map(|point| point.0).collect();
    counts.sort_by(f64::total_cmp);
    counts.dedup();
    let mut free = f64::MIN;
    for count in counts {
        let x = across(count);
        let _ = writeln!(text, "<path d=\"M{x:.1} {bottom} v5\" stroke=\"#222\"/>");
        // Leave out numbers that would overlap; their ticks stay.
        if x >= free {
            let _ = writeln!(
                text,
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 19.0,
                short(count)
            );
            free = x + 36.0;
        }
    }
    let _ = writeln!(
        text,
        "<path d=\"M{left} {bottom} H{right}\" stroke=\"#222\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666\">objects</text>",
        f64::midpoint(left, right),
        bottom + 36.0
    );
    for (index, line) in panel.lines.iter().enumerate() {
        let mut path = String::new();
        let mut marks = String::new();
        for (number, (count, value)) in line.points.iter().enumerate() {
            let (x, y) = (across(*count), up(*value));
            let command = if number == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{x:.1} {y:.1} ");
            marks.push_str(&mark(index, x, y));
        }
        let _ = writeln!(
            text,
            "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>{marks}",
            path.trim_end(),
            colour(index),
            thickness(line)
        );
    }
}

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

fn thickness(line: &Line) -> f64 {
    if line.ours { 3.5 } else { 1.5 }
}

/// Draws a mark at a point: circle, square, diamond, triangle, then the same shapes hollow.
fn mark(index: usize, x: f64, y: f64) -> String {
    let colour = colour(index);
    let fill = if (index / 4).is_multiple_of(2) {
        colour
    } else {
        "#fff"
    };
    let path = match index % 4 {
        0 => format!(
            "M{:.1} {y:.1} a4.5 4.5 0 1 0 9 0 a4.5 4.5 0 1 0 -9 0 z",
            x - 4.5
        ),
        1 => format!("M{:.1} {:.1} h8 v8 h-8 z", x - 4.0, y - 4.0),
        2 => format!("M{x:.1} {:.1} l5.5 5.5 l-5.5 5.5 l-5.5 -5.5 z", y - 5.5),
        _ => format!("M{x:.1} {:.1} l5 9 h-10 z", y - 5.5),
    };
    format!("<path d=\"{path}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.5\"/>")
}

/// Returns the distance between ticks: one, two or five times a power of ten, so that there are three to seven ticks.
pub(super) fn step(most: f64) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let rough = most / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(power)
}

/// Formats a number with three digits and k or M.
pub(super) fn short(value: f64) -> String {
    let (value, unit) = match value {
        value if value >= 1e6 => (value / 1e6, "M"),
        value if value >= 1e3 => (value / 1e3, "k"),
        value => (value, ""),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        3
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text}{unit}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
