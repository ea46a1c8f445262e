/* Devices in virtual time. Private to runtime/net.
 *
 * One thread runs the nodes of a network, with their real kernels, in the order in which several
 * devices would. A discrete-event simulation: the clock jumps from event to event, and an event is
 * a message that arrives or a device that has finished.
 *
 *     message arrives   if it is the last that its node waits for: the node's work becomes ready
 *     device is idle    takes the best ready work: backward first, then the oldest instance, then
 *                       the first node. Its kernels run at once, on this thread; the device is
 *                       busy for their price, and a message leaves when what was priced before
 *                       it is done
 *
 * So a node computes what it would on these devices: what it computes follows from the order of its
 * messages, and that is the order of virtual time. Events of one time are all taken before an idle
 * device chooses. With prices that are given, a run depends on nothing else.
 *
 * An update is part of the work that caused it. The controller is no device: it takes no time.
 * Nodes that only move rows are placed with the node that sends to them. */
#pragma once
#include "runtime/net/virtual.h"

/* Opens the devices of the configuration; n->devices is null without. */
neo_rt_status neo_rti_devices_open(neo_rt_network *n,
                                   const neo_rt_net_devices *config) NEO_MUST_CHECK;
void neo_rti_devices_close(neo_rt_network *n);
/* Prices that the other network, of the same library, has measured. */
void neo_rti_devices_take_prices(neo_rt_network *n, const neo_rt_network *from);
/* Takes the events of the next time, then lets idle devices choose. */
neo_rt_status neo_rti_devices_step(neo_rt_network *n) NEO_MUST_CHECK;
/* Are there events? Not without devices. */
bool neo_rti_devices_pending(const neo_rt_network *n);
/* All devices wait for one another: the clock goes on by the updates since they were idle. Nothing
 * without devices. */
void neo_rti_devices_meet(neo_rt_network *n);
