//! Three by three matrices of f64: what kinematics needs of linear algebra.

/// Rows of a matrix.
pub(super) type Matrix = [[f64; 3]; 3];

/// Cross product.
pub(super) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Scalar product.
pub(super) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Euclidean length.
pub(super) fn norm(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

/// Determinant.
pub(super) fn det(m: &Matrix) -> f64 {
    dot(m[0], cross(m[1], m[2]))
}

/// The inverse, if |determinant| is above `floor` (which also refuses what is not a number).
pub(super) fn invert(m: &Matrix, floor: f64) -> Option<Matrix> {
    let det = det(m);
    if !(det.abs() > floor && det.is_finite()) {
        return None;
    }
    // Columns of the inverse are the cross products of pairs of rows.
    let columns = [cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])];
    Some([0, 1, 2].map(|r| columns.map(|column| column[r] / det)))
}

/// Matrix times column.
pub(super) fn times(m: &Matrix, v: [f64; 3]) -> [f64; 3] {
    [dot(m[0], v), dot(m[1], v), dot(m[2], v)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        let m = [[2.0, -1.0, 0.5], [0.0, 3.0, 1.0], [-1.0, 0.25, 4.0]];
        let inverse = invert(&m, 1e-9).unwrap();
        for v in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.3, -2.0, 5.0]] {
            let back = times(&m, times(&inverse, v));
            assert!(back.iter().zip(v).all(|(a, b)| (a - b).abs() < 1e-12), "{back:?}");
        }
        assert_eq!(invert(&[[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 0.0, 1.0]], 1e-9), None);
        assert_eq!(invert(&[[f64::NAN; 3]; 3], 1e-9), None);
    }
}
