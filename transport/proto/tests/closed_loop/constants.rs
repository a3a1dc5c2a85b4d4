//! Why the constants of the triggers are what they are.

use media::Channel;

use crate::proto::{Scheme, TriggerConfig};
use crate::station::Clock;
use crate::world::{Delays, World, load};

fn at_r400(triggers: TriggerConfig, seed: u64) -> Delays {
    let clocks = [Clock::default(), Clock::default()];
    let mut world = World::over(&load("paper/r400"), seed, Scheme::Dpm, clocks, |c| c.triggers = triggers);
    world.run_to(200_000);
    world.drain();
    world.delays(Channel::Backward, 500..200_000)
}

/// A heavy weight makes single packets of cross-traffic break the run of rises, and a short window takes a full queue for
/// a steady network: k goes down while the queue grows, again and again, until it is full.
#[test]
fn heavy_weights_and_short_windows_ratchet_up_to_a_full_queue() {
    let a = TriggerConfig::default();
    for seed in 1..=2 {
        let good = at_r400(a, seed);
        assert!(good.max < 33.0 && good.loss_percent == 0.0, "setting A, seed {seed}: {good:?}");
        // At 0.2 the queue builds up and just escapes; what is heavier or shorter loses packets to a full queue.
        for (bad, max, loses) in [
            (TriggerConfig { ewma_weight: 0.2, ..a }, 45.0, false),
            (TriggerConfig { ewma_weight: 0.3, ..a }, 140.0, true),
            (TriggerConfig { ewma_weight: 0.5, ..a }, 140.0, true),
            (TriggerConfig { window: 8, ..a }, 130.0, true),
            (TriggerConfig { window: 12, ..a }, 130.0, true),
            (TriggerConfig { window: 16, ..a }, 130.0, true),
        ] {
            let got = at_r400(bad, seed);
            println!("weight {} window {}, seed {seed}: {got:.1?}", bad.ewma_weight, bad.window);
            assert!(got.max > max, "{bad:?}, seed {seed}: {got:?}");
            assert_eq!(got.loss_percent > 0.0, loses, "{bad:?}, seed {seed}: {got:?}");
        }
    }
}

/// The neighbourhood of A that is told to be robust loses nothing either.
#[test]
fn near_setting_a_nothing_is_lost() {
    let a = TriggerConfig::default();
    for near in [
        TriggerConfig { ewma_weight: 0.1, ..a },
        TriggerConfig { rises: 8, ..a },
        TriggerConfig { window: 96, ..a },
        TriggerConfig { tolerance_ms: 0.25, ..a },
        TriggerConfig { tolerance_ms: 0.5, ..a },
    ] {
        let got = at_r400(near, 1);
        println!("{near:?}: {got:?}");
        assert!(got.loss_percent == 0.0 && got.max < 45.0, "{near:?}: {got:?}");
    }
}
