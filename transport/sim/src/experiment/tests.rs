use super::*;

fn small(lines: &str) -> Result<Experiment, ExperimentError> {
    let text = format!(
        "title = \"t\"\ndescription = \"d\"\nkind = \"table\"\nschemes = [\"dpm\", \"no-merge\"]\ncolumns = [\"jain\", \"snr\", \"rate\"]\n{lines}\n"
    );
    shape::parse(&text, "small.toml", "small")
}

#[test]
fn every_built_in_experiment_loads_under_its_name() {
    for name in Experiment::names() {
        let experiment = Experiment::load(name).unwrap();
        assert_eq!(experiment.name, name);
        assert!(experiment.description.ends_with('.') && !experiment.title.is_empty(), "{name}");
        assert!((1..=job::count(&experiment)).contains(&experiment.jobs().unwrap().len()), "{name}");
        assert!(Experiment::is_named_by(name));
    }
    assert!(!Experiment::is_named_by("paper/r260") && !Experiment::is_named_by("no/such.toml"));
    assert!(matches!(Experiment::load("moon"), Err(ExperimentError::UnknownName(_))));
}

#[test]
fn quantities_go_by_unique_names() {
    let names: Vec<String> = Quantity::grammar()
        .split(", ")
        .filter(|n| !n.contains(' '))
        .flat_map(|n| [n.into(), format!("forward-{n}")])
        .collect();
    for name in &names {
        assert_eq!(name.parse::<Quantity>().unwrap().to_string(), *name);
    }
    assert_eq!(names.len(), 2 * 26);
    assert_eq!("haptic-max".parse::<Quantity>().unwrap().limit(), Some(30.0));
    assert!("forward-forward-k".parse::<Quantity>().is_err() && "".parse::<Quantity>().is_err());
}

#[test]
fn a_key_tells_runs_apart_by_all_that_they_depend_on() {
    let key = |lines: &str| small(lines).unwrap().jobs().unwrap().remove(0).key;
    let base = key("scenarios = [\"paper/r0\"]");
    assert_eq!(base, key("scenarios = [\"paper/r0\", \"lan\"]"));
    let others = [
        "scenarios = [\"paper/r1\"]",
        "scenarios = [\"paper/r0\"]\nseeds = [2]",
        "scenarios = [\"paper/r0\"]\nseconds = 499.999",
        "scenarios = [\"paper/r0\"]\nsource = \"generator\"",
        "scenarios = [\"paper/r0\"]\nwindow_s = [0, 1]",
        "scenarios = [\"paper/r0\"]\nsharing = { sessions = [2], share_kbps = [900], others = [\"same\"] }",
    ];
    for lines in others {
        assert_ne!(base, key(lines), "{lines}");
    }
    // Networks of one name that differ, such as two versions of a file, differ in their digest.
    let share = |kbps: u32| {
        key(&format!(
            "scenarios = [\"paper/r0\"]\nsharing = {{ sessions = [2], share_kbps = [{kbps}], others = [\"same\"] }}"
        ))
    };
    assert_ne!(share(800).constants, share(801).constants);
}

#[test]
fn equal_rates_are_fair_and_one_that_yields_is_not() {
    let lines = "scenarios = [\"paper/r0\"]\nseconds = 20\nsharing = { sessions = [2], share_kbps = [720], others = [\"same\", \"no-merge\"] }";
    let experiment = small(lines).unwrap();
    let jobs = experiment.jobs().unwrap();
    let schemes: Vec<Vec<String>> =
        jobs.iter().map(|job| job.schemes().iter().map(Scheme::to_string).collect()).collect();
    assert_eq!(schemes, [["dpm", "dpm"], ["dpm", "no-merge"], ["no-merge", "no-merge"]]);
    let references = References::new();
    let jain: Quantity = "jain".parse().unwrap();
    let index = |job: &Job| {
        let run = job.run(&references).unwrap();
        jain.of(&run.sessions[0], &run).unwrap()
    };
    assert!(index(&jobs[0]) > 0.999);
    // R_4 beside R_1: (694 + 1096)^2 / (2 (694^2 + 1096^2)).
    assert!((index(&jobs[1]) - 0.952).abs() < 0.002);
    assert!(index(&jobs[2]) > 0.999_999);
}

#[test]
fn a_stretch_holds_what_the_traces_hold_and_moves_into_short_runs() {
    let lines = "scenarios = [\"paper/r260\"]\nsource = \"closed-loop\"\nseconds = 8\nwindow_s = [5, 7]";
    let experiment = small(lines).unwrap();
    let series = experiment.jobs().unwrap()[0].run(&References::new()).unwrap().series.unwrap();
    assert_eq!(series.delay_ms.len(), 2_000);
    assert_eq!((series.delay_ms[0].0, series.delay_ms[1_999].0), (5_000.0, 6_999.0));
    assert!(series.delay_ms.iter().all(|&(_, delay)| (15.0..50.0).contains(&delay)));
    assert_eq!((series.k[0].0, series.k.last().unwrap().0), (5_000.0, 7_000.0));
    assert!(series.k.iter().all(|(_, k)| (1.0..=4.0).contains(k)));
    assert_eq!((series.force_n.len(), series.ideal_force_n.len()), (2_000, 2_000));
    assert!(series.force_n != series.ideal_force_n && series.ideal_force_n.iter().any(|&f| f > 0.1));
    let window = |seconds| experiment.clone().with_seconds(seconds).map(|e| e.window_ms);
    assert_eq!(window(6.0).unwrap(), Some((4_000, 6_000)));
    assert_eq!(window(1.0).unwrap(), Some((0, 1_000)));
    assert_eq!(window(100.0).unwrap(), Some((5_000, 7_000)));
    assert!(window(0.0).is_err() && window(5_001.0).is_err() && window(f64::NAN).is_err());
}
