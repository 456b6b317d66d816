// A script of the OTG model, as its clients in Go have it: the same as `client.py`.
//
// It gets the address of a server and a file for what was captured. What it prints is what the
// client made of the answers.
package main

import (
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/open-traffic-generator/snappi/gosnappi"
)

const patience = 60 * time.Second

func must(_ gosnappi.Warning, err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Two flows: one of exactly so many frames, and one that goes on until it is stopped.
func wanted() gosnappi.Config {
	config := gosnappi.NewConfig()
	for _, name := range []string{"p1", "p2"} {
		config.Ports().Add().SetName(name).SetLocation(name)
	}
	config.Captures().Add().SetName("seen").SetPortNames([]string{"p1"})
	for _, one := range [][2]string{{"counted", "p1"}, {"endless", "p2"}} {
		flow := config.Flows().Add().SetName(one[0])
		flow.TxRx().Port().SetTxName(one[1]).SetRxNames([]string{one[1]})
		flow.Size().SetFixed(128)
		flow.Rate().SetPps(500)
		flow.Metrics().SetEnable(true).SetLoss(true)
		ethernet := flow.Packet().Add().Ethernet()
		ethernet.Src().SetValue("02:00:00:00:00:01")
		ethernet.Dst().SetValue("02:01:00:00:00:01")
		ip := flow.Packet().Add().Ipv4()
		ip.Src().Increment().SetStart("198.18.0.1").SetCount(4)
		ip.Dst().SetValue("198.19.0.1")
		udp := flow.Packet().Add().Udp()
		udp.SrcPort().SetValue(5000)
		udp.DstPort().SetValue(6000)
	}
	config.Flows().Items()[0].Duration().FixedPackets().SetPackets(100)
	config.Flows().Items()[1].Duration().Continuous().SetGap(12)
	return config
}

// What a client knows of a refusal.
func refused(api gosnappi.Api) map[string]any {
	config := wanted()
	config.Devices().Add().SetName("d")
	_, err := api.SetConfig(config)
	told, ok := gosnappi.FromError(err)
	if !ok {
		log.Fatal("devices were taken, or refused otherwise than the model has it: ", err)
	}
	return map[string]any{"code": told.Code(), "kind": told.Kind(), "errors": told.Errors()}
}

func transmit(api gosnappi.Api, name string, state gosnappi.StateTrafficFlowTransmitStateEnum) {
	control := gosnappi.NewControlState()
	control.Traffic().FlowTransmit().SetFlowNames([]string{name}).SetState(state)
	must(api.SetControlState(control))
}

func capture(api gosnappi.Api, state gosnappi.StatePortCaptureStateEnum) {
	control := gosnappi.NewControlState()
	control.Port().Capture().SetPortNames([]string{"p1"}).SetState(state)
	must(api.SetControlState(control))
}

// Waits until a flow sends, or no more; returns its counters.
func until(api gosnappi.Api, name string, state gosnappi.FlowMetricTransmitEnum) map[string]any {
	request := gosnappi.NewMetricsRequest()
	request.Flow().SetFlowNames([]string{name})
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		answer, err := api.GetMetrics(request)
		if err != nil {
			log.Fatal(err)
		}
		one := answer.FlowMetrics().Items()[0]
		stopped := state == gosnappi.FlowMetricTransmit.STOPPED
		if one.Transmit() == state && (stopped || one.FramesTx() > 0) {
			return map[string]any{
				"name": one.Name(), "port_tx": one.PortTx(), "port_rx": one.PortRx(),
				"transmit": one.Transmit(), "loss": one.Loss(),
				"frames_tx": one.FramesTx(), "frames_rx": one.FramesRx(),
				"bytes_tx": one.BytesTx(), "bytes_rx": one.BytesRx(),
				"rates": []float32{one.FramesTxRate(), one.FramesRxRate()},
			}
		}
		if time.Since(begun) > patience {
			log.Fatal("this is not as expected: ", one)
		}
	}
}

// All that a client can read of ports; it panics where it asks for what was not answered.
func ports(api gosnappi.Api) []map[string]any {
	request := gosnappi.NewMetricsRequest()
	request.Port().SetPortNames([]string{})
	answer, err := api.GetMetrics(request)
	if err != nil {
		log.Fatal(err)
	}
	found := []map[string]any{}
	for _, port := range answer.PortMetrics().Items() {
		found = append(found, map[string]any{
			"name": port.Name(), "location": port.Location(),
			"link": port.Link(), "capture": port.Capture(),
			"frames_tx": port.FramesTx(), "frames_rx": port.FramesRx(),
			"bytes_tx": port.BytesTx(), "bytes_rx": port.BytesRx(),
			"rates": []float32{
				port.FramesTxRate(), port.FramesRxRate(), port.BytesTxRate(), port.BytesRxRate(),
			},
		})
	}
	return found
}

func main() {
	log.SetFlags(0)
	api := gosnappi.NewApi()
	api.NewHttpTransport().SetLocation(os.Args[1]).SetVerify(false)
	api.SetVersionCompatibilityCheck(true)
	if err := api.CheckVersionCompatibility(); err != nil {
		log.Fatal(err)
	}
	remote, err := api.GetRemoteVersion()
	if err != nil {
		log.Fatal(err)
	}
	told := map[string]any{
		"client":  api.GetLocalVersion().SdkVersion(),
		"server":  remote.AppVersion(),
		"refused": refused(api),
	}
	must(api.SetConfig(wanted()))
	kept, err := api.GetConfig()
	if err != nil {
		log.Fatal(err)
	}
	names := []string{}
	for _, flow := range kept.Flows().Items() {
		names = append(names, flow.Name())
	}
	told["kept"] = names
	capture(api, gosnappi.StatePortCaptureState.START)
	transmit(api, "counted", gosnappi.StateTrafficFlowTransmitState.START)
	told["counted"] = until(api, "counted", gosnappi.FlowMetricTransmit.STOPPED)
	told["ports"] = ports(api)
	capture(api, gosnappi.StatePortCaptureState.STOP)
	frames, err := api.GetCapture(gosnappi.NewCaptureRequest().SetPortName("p1"))
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], frames, 0o600); err != nil {
		log.Fatal(err)
	}
	transmit(api, "endless", gosnappi.StateTrafficFlowTransmitState.START)
	until(api, "endless", gosnappi.FlowMetricTransmit.STARTED)
	transmit(api, "endless", gosnappi.StateTrafficFlowTransmitState.STOP)
	told["endless"] = until(api, "endless", gosnappi.FlowMetricTransmit.STOPPED)
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		log.Fatal(err)
	}
}
