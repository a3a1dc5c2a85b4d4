//! CSV files by the names of their columns.

use std::fs;
use std::path::Path;
use std::str::FromStr;

/// A file in memory.
pub struct Table {
    name: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads a file with a header.
    pub fn read(path: &Path) -> Table {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut lines = text.lines().map(|line| line.split(',').map(String::from).collect::<Vec<_>>());
        let columns = lines.next().unwrap_or_default();
        Table { name: path.display().to_string(), columns, rows: lines.collect() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// All of one column.
    pub fn column<T: FromStr>(&self, name: &str) -> Vec<T> {
        let index = self.columns.iter().position(|c| c == name);
        let index = index.unwrap_or_else(|| panic!("{}: no column {name}", self.name));
        let cell = |row: &Vec<String>| row.get(index).and_then(|text| text.parse().ok());
        self.rows
            .iter()
            .map(|row| cell(row).unwrap_or_else(|| panic!("{}: column {name}: {row:?}", self.name)))
            .collect()
    }

    /// Three columns `NAME_x`, `NAME_y`, `NAME_z`.
    pub fn vectors(&self, name: &str) -> Vec<[f32; 3]> {
        let [x, y, z] = ["x", "y", "z"].map(|axis| self.column::<f32>(&format!("{name}_{axis}")));
        (0..self.len()).map(|i| [x[i], y[i], z[i]]).collect()
    }
}
