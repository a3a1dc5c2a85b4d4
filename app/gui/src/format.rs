//! Numbers as people read them: fixed digits, so that columns stand still; a dash where nothing is known.

/// Stands for what is not known.
pub(crate) const UNKNOWN: &str = "–";

/// `value` with `digits` after the point, a dash if unknown or not finite.
pub(crate) fn number(value: Option<f64>, digits: usize) -> String {
    match value {
        // Minus zero would read as a sign without a cause.
        Some(v) if v.is_finite() => {
            format!("{:.digits$}", if v.abs() < 0.5 / 10f64.powi(digits as i32) { 0.0 } else { v })
        }
        _ => UNKNOWN.into(),
    }
}

/// As [`number`], with a unit where there is a value.
pub(crate) fn with_unit(value: Option<f64>, digits: usize, unit: &str) -> String {
    let text = number(value, digits);
    if text == UNKNOWN { text } else { format!("{text} {unit}") }
}

/// Whole number with a space between thousands.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// Seconds as `m:ss` or `h:mm:ss`.
pub(crate) fn clock(seconds: f64) -> String {
    let s = seconds.max(0.0) as u64;
    let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
    if h > 0 { format!("{h}:{m:02}:{s:02}") } else { format!("{m}:{s:02}") }
}

/// Euclidean length.
pub(crate) fn norm(v: [f32; 3]) -> f32 {
    v.iter().map(|c| c * c).sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_and_absurd_values_are_dashes() {
        assert_eq!(number(None, 1), UNKNOWN);
        assert_eq!(number(Some(f64::NAN), 1), UNKNOWN);
        assert_eq!(with_unit(Some(f64::INFINITY), 1, "ms"), UNKNOWN);
        assert_eq!(with_unit(Some(18.25), 1, "ms"), "18.2 ms");
        assert_eq!(number(Some(-0.01), 1), "0.0");
    }

    #[test]
    fn counts_and_times_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(clock(61.9), "1:01");
        assert_eq!(clock(3661.0), "1:01:01");
        assert_eq!(clock(f64::NAN), "0:00");
    }
}
