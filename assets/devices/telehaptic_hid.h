/*
 * The HID reports of a telehaptic device, for authors of firmware (C11). telehaptic-hid.md beside this file says what each
 * field means and what a device must do by itself; tests hold both against the host's code.
 *
 * Bytes travel little-endian. The structures below have the very layout of the wire on a little-endian processor, which all
 * common microcontrollers are; the assertions at the end refuse a compiler that lays them out otherwise.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef TELEHAPTIC_HID_H
#define TELEHAPTIC_HID_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the structures of telehaptic_hid.h are for little-endian processors: write the bytes one by one"
#endif

/* Report numbers. */
#define TELEHAPTIC_IN_ID 1  /* device to host, one each millisecond */
#define TELEHAPTIC_OUT_ID 2 /* host to device, one each millisecond */

/* Without an OUT report for so long, ms, the amplifiers must be off and TELEHAPTIC_WATCHDOG set. */
#define TELEHAPTIC_WATCHDOG_MS 20

/* Bits of telehaptic_in.status. */
#define TELEHAPTIC_READY 0x0001u    /* calibrated: the position is valid; without it the host gives no force */
#define TELEHAPTIC_FAULT 0x0002u    /* amplifier or sensor fault: no force is shown */
#define TELEHAPTIC_LIMITED 0x0004u  /* the last force was cut to the device's own limits */
#define TELEHAPTIC_WATCHDOG 0x0008u /* the watchdog has put the force off */
#define TELEHAPTIC_HOMED(encoder) (0x0010u << (encoder)) /* raw: the index of encoder 0 to 2 is found */
#define TELEHAPTIC_BUTTON(button) (0x0100u << (button))  /* button 0 to 7 is held */

/* telehaptic_out.command. Treat any other as off. */
#define TELEHAPTIC_OFF 0       /* amplifiers off, the force means nothing */
#define TELEHAPTIC_SHOW 1      /* show the force until the next report */
#define TELEHAPTIC_CALIBRATE 2 /* amplifiers off; the pose of now is the reference, or start homing; not ready until done */

#pragma pack(push, 1)

/* Device to host. */
struct telehaptic_in {
    uint8_t id;        /* TELEHAPTIC_IN_ID */
    int32_t axes[3];   /* Cartesian: position x, y, z, nm; raw: counts of the encoders since the reference pose */
    uint32_t time_us;  /* device clock when they were taken, us; wraps */
    uint16_t sequence; /* counts reports; wraps */
    uint16_t status;   /* bits above */
};

/* Host to device. */
struct telehaptic_out {
    uint8_t id;        /* TELEHAPTIC_OUT_ID */
    int16_t units[3];  /* Cartesian: force x, y, z, mN; raw: currents of the motors, mA */
    uint16_t sequence; /* counts forces of the host's servo; wraps */
    uint8_t command;   /* above */
};

#pragma pack(pop)

/*
 * Report descriptors: `static const uint8_t descriptor[] = {TELEHAPTIC_CARTESIAN_DESCRIPTOR};`. The host knows a device by
 * these bytes: use one of them unchanged.
 */

/* A device that knows its arm: position in, force out. 121 bytes. */
#define TELEHAPTIC_CARTESIAN_DESCRIPTOR \
    0x06, 0x48, 0xff,                  /* Usage Page (vendor 0xff48) */ \
    0x09, 0x01,                        /* Usage (haptic device) */ \
    0xa1, 0x01,                        /* Collection (Application) */ \
    0x85, 0x01,                        /*   Report ID (1) */ \
    0x09, 0x10,                        /*   Usage (position) */ \
    0x17, 0x00, 0x00, 0x00, 0x80,      /*   Logical Minimum (-2147483648) */ \
    0x27, 0xff, 0xff, 0xff, 0x7f,      /*   Logical Maximum (2147483647) */ \
    0x65, 0x11,                        /*   Unit (cm) */ \
    0x55, 0x09,                        /*   Unit Exponent (-7): nm */ \
    0x75, 0x20,                        /*   Report Size (32) */ \
    0x95, 0x03,                        /*   Report Count (3) */ \
    0x81, 0x02,                        /*   Input (Data, Variable, Absolute) */ \
    0x09, 0x11,                        /*   Usage (device time) */ \
    0x15, 0x00,                        /*   Logical Minimum (0) */ \
    0x27, 0xff, 0xff, 0xff, 0xff,      /*   Logical Maximum (4294967295) */ \
    0x66, 0x01, 0x10,                  /*   Unit (s) */ \
    0x55, 0x0a,                        /*   Unit Exponent (-6): us */ \
    0x95, 0x01,                        /*   Report Count (1) */ \
    0x81, 0x02,                        /*   Input (Data, Variable, Absolute) */ \
    0x09, 0x12,                        /*   Usage (sequence) */ \
    0x27, 0xff, 0xff, 0x00, 0x00,      /*   Logical Maximum (65535) */ \
    0x65, 0x00,                        /*   Unit (none) */ \
    0x55, 0x00,                        /*   Unit Exponent (0) */ \
    0x75, 0x10,                        /*   Report Size (16) */ \
    0x81, 0x02,                        /*   Input (Data, Variable, Absolute) */ \
    0x09, 0x13,                        /*   Usage (status bits) */ \
    0x25, 0x01,                        /*   Logical Maximum (1) */ \
    0x75, 0x01,                        /*   Report Size (1) */ \
    0x95, 0x10,                        /*   Report Count (16) */ \
    0x81, 0x02,                        /*   Input (Data, Variable, Absolute) */ \
    0x85, 0x02,                        /*   Report ID (2) */ \
    0x09, 0x20,                        /*   Usage (force) */ \
    0x16, 0x00, 0x80,                  /*   Logical Minimum (-32768) */ \
    0x26, 0xff, 0x7f,                  /*   Logical Maximum (32767) */ \
    0x66, 0x11, 0xe1,                  /*   Unit (g cm / s^2) */ \
    0x55, 0x02,                        /*   Unit Exponent (2): mN */ \
    0x75, 0x10,                        /*   Report Size (16) */ \
    0x95, 0x03,                        /*   Report Count (3) */ \
    0x91, 0x02,                        /*   Output (Data, Variable, Absolute) */ \
    0x09, 0x21,                        /*   Usage (sequence) */ \
    0x15, 0x00,                        /*   Logical Minimum (0) */ \
    0x27, 0xff, 0xff, 0x00, 0x00,      /*   Logical Maximum (65535) */ \
    0x65, 0x00,                        /*   Unit (none) */ \
    0x55, 0x00,                        /*   Unit Exponent (0) */ \
    0x95, 0x01,                        /*   Report Count (1) */ \
    0x91, 0x02,                        /*   Output (Data, Variable, Absolute) */ \
    0x09, 0x22,                        /*   Usage (command) */ \
    0x25, 0x02,                        /*   Logical Maximum (2) */ \
    0x75, 0x08,                        /*   Report Size (8) */ \
    0x91, 0x02,                        /*   Output (Data, Variable, Absolute) */ \
    0xc0                               /* End Collection */

/* A device that does not: encoder counts in, motor currents out. 123 bytes. */
#define TELEHAPTIC_RAW_DESCRIPTOR \
    0x06, 0x48, 0xff,                  /* Usage Page (vendor 0xff48) */ \
    0x09, 0x02,                        /* Usage (haptic device, raw) */ \
    0xa1, 0x01,                        /* Collection (Application) */ \
    0x85, 0x01,                        /*   Report ID (1) */ \
    0x09, 0x14,                        /*   Usage (encoder counts) */ \
    0x17, 0x00, 0x00, 0x00, 0x80,      /*   Logical Minimum (-2147483648) */ \
    0x27, 0xff, 0xff, 0xff, 0x7f,      /*   Logical Maximum (2147483647) */ \
    0x65, 0x00,                        /*   Unit (none) */ \
    0x55, 0x00,                        /*   Unit Exponent (0) */ \
    0x75, 0x20,                        /*   Report Size (32) */ \
    0x95, 0x03,                        /*   Report Count (3) */ \
    0x81, 0x02,                        /*   Input (Data, Variable, Absolute) */ \
    0x09, 0x11,                        /*   Usage (device time) */ \
    0x15, 0x00,                        /*   Logical Minimum (0) */ \
    0x27, 0xff, 0xff, 0xff, 0xff,      /*   Logical Maximum (4294967295) */ \
    0x66, 0x01, 0x10,                  /*   Unit (s) */ \
    0x55, 0x0a,                        /*   Unit Exponent (-6): us */ \
    0x95, 0x01,                        /*   Report Count (1) */ \
    0x81, 0x02,                        /*   Input (Data, Variable, Absolute) */ \
    0x09, 0x12,                        /*   Usage (sequence) */ \
    0x27, 0xff, 0xff, 0x00, 0x00,      /*   Logical Maximum (65535) */ \
    0x65, 0x00,                        /*   Unit (none) */ \
    0x55, 0x00,                        /*   Unit Exponent (0) */ \
    0x75, 0x10,                        /*   Report Size (16) */ \
    0x81, 0x02,                        /*   Input (Data, Variable, Absolute) */ \
    0x09, 0x13,                        /*   Usage (status bits) */ \
    0x25, 0x01,                        /*   Logical Maximum (1) */ \
    0x75, 0x01,                        /*   Report Size (1) */ \
    0x95, 0x10,                        /*   Report Count (16) */ \
    0x81, 0x02,                        /*   Input (Data, Variable, Absolute) */ \
    0x85, 0x02,                        /*   Report ID (2) */ \
    0x09, 0x24,                        /*   Usage (motor current) */ \
    0x16, 0x00, 0x80,                  /*   Logical Minimum (-32768) */ \
    0x26, 0xff, 0x7f,                  /*   Logical Maximum (32767) */ \
    0x67, 0x01, 0x00, 0x10, 0x00,      /*   Unit (A) */ \
    0x55, 0x0d,                        /*   Unit Exponent (-3): mA */ \
    0x75, 0x10,                        /*   Report Size (16) */ \
    0x95, 0x03,                        /*   Report Count (3) */ \
    0x91, 0x02,                        /*   Output (Data, Variable, Absolute) */ \
    0x09, 0x21,                        /*   Usage (sequence) */ \
    0x15, 0x00,                        /*   Logical Minimum (0) */ \
    0x27, 0xff, 0xff, 0x00, 0x00,      /*   Logical Maximum (65535) */ \
    0x65, 0x00,                        /*   Unit (none) */ \
    0x55, 0x00,                        /*   Unit Exponent (0) */ \
    0x95, 0x01,                        /*   Report Count (1) */ \
    0x91, 0x02,                        /*   Output (Data, Variable, Absolute) */ \
    0x09, 0x22,                        /*   Usage (command) */ \
    0x25, 0x02,                        /*   Logical Maximum (2) */ \
    0x75, 0x08,                        /*   Report Size (8) */ \
    0x91, 0x02,                        /*   Output (Data, Variable, Absolute) */ \
    0xc0                               /* End Collection */

#define TELEHAPTIC_CARTESIAN_DESCRIPTOR_SIZE 121
#define TELEHAPTIC_RAW_DESCRIPTOR_SIZE 123

static_assert(sizeof(struct telehaptic_in) == 21, "IN report: 21 bytes");
static_assert(offsetof(struct telehaptic_in, axes) == 1, "axes at 1");
static_assert(offsetof(struct telehaptic_in, time_us) == 13, "device time at 13");
static_assert(offsetof(struct telehaptic_in, sequence) == 17, "sequence at 17");
static_assert(offsetof(struct telehaptic_in, status) == 19, "status at 19");
static_assert(sizeof(struct telehaptic_out) == 10, "OUT report: 10 bytes");
static_assert(offsetof(struct telehaptic_out, units) == 1, "force at 1");
static_assert(offsetof(struct telehaptic_out, sequence) == 7, "sequence at 7");
static_assert(offsetof(struct telehaptic_out, command) == 9, "command at 9");
static_assert(sizeof((uint8_t[]){TELEHAPTIC_CARTESIAN_DESCRIPTOR}) == TELEHAPTIC_CARTESIAN_DESCRIPTOR_SIZE, "bytes");
static_assert(sizeof((uint8_t[]){TELEHAPTIC_RAW_DESCRIPTOR}) == TELEHAPTIC_RAW_DESCRIPTOR_SIZE, "bytes");

#endif
