//! The multiplexer alone.

use super::*;

fn frame(payload: &[u8]) -> FrameIn<'_> {
    FrameIn { payload, key: false, captured_at: Instant::ZERO }
}

#[test]
fn a_fragment_is_never_larger_than_p_and_audio_goes_first() {
    let mut mux = Mux::new(70, 12);
    assert_eq!(mux.push_video(Instant::ZERO, 0, frame(&[7; 1994])), Some(0));
    assert_eq!(mux.push_audio(Instant::ZERO, 0, frame(&[9; 154])), Some(0));
    let mut audio = 0;
    let mut video = 0;
    for tick in 0..40 {
        mux.fragment(tick, &[1; 12], 1);
        let p = mux.pop().unwrap();
        assert!(p.samples.len() + p.audio.len() + p.video.len() <= 70);
        assert_eq!(p.media.audio_start, (tick == 0).then_some(0));
        assert_eq!(p.media.video_start, (tick == 2).then_some(0), "tick {tick}");
        audio += p.audio.len();
        video += p.video.len();
        mux.done(p);
    }
    assert_eq!((audio, video), (160, 2000));
    assert_eq!((mux.audio_backlog(), mux.video_backlog(), mux.video_frames_waiting()), (0, 0, 0));
    mux.fragment(40, &[1; 12], 1);
    assert_eq!(mux.pop().unwrap().samples.len(), 12);
}

#[test]
fn the_start_of_a_second_frame_inside_a_packet_is_named() {
    let mut mux = Mux::new(70, 12);
    for _ in 0..2 {
        mux.push_video(Instant::ZERO, 0, frame(&[7; 60])).unwrap();
    }
    mux.fragment(0, &[0; 12], 1);
    assert_eq!(mux.pop().unwrap().media.video_start, Some(0));
    mux.fragment(1, &[0; 12], 1);
    assert_eq!(mux.pop().unwrap().media.video_start, Some(8));
}

#[test]
fn all_that_wait_leave_in_one_packet_when_k_falls() {
    let mut mux = Mux::new(24, 24);
    for tick in 0..3 {
        mux.fragment(tick, &[0; 24], 4);
    }
    assert!(mux.pop().is_none());
    mux.fragment(3, &[0; 24], 1);
    let p = mux.pop().unwrap();
    assert_eq!((p.k, p.first_index, p.samples.len()), (4, 0, 96));
}

#[test]
fn what_has_no_room_is_refused_whole() {
    let mut mux = Mux::new(70, 12);
    assert_eq!(mux.push_audio(Instant::ZERO, 0, frame(&[])), None);
    assert_eq!(mux.push_video(Instant::ZERO, 0, frame(&[0; crate::MAX_FRAME + 1])), None);
    assert!(mux.push_video(Instant::ZERO, 0, frame(&[0; crate::MAX_FRAME])).is_some());
    assert!(mux.push_video(Instant::ZERO, 0, frame(&[0; crate::MAX_FRAME])).is_none());
    assert_eq!(Mux::new(24, 24).push_audio(Instant::ZERO, 0, frame(&[1])), None);
}
